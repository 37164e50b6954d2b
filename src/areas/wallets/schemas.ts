import { z } from 'zod';
import { Instant, Wallet } from '#lib/scalars.ts';
import { readIdentifier } from './identifiers.ts';

const BaseUnits = z.string().regex(/^\d+$/);

export const Eligibility = z
  .object({
    eligible: z.boolean().meta({ description: 'Whether the balance is at least the minimum.' }),
    tokenBalance: BaseUnits.meta({
      description: 'Base units of the token over all token accounts of the wallet, frozen ones included.',
      example: '2500000000',
    }),
    minimum: BaseUnits.meta({ description: 'Base units that the gate asks for.', example: '1000000' }),
    mint: Wallet.meta({ description: 'The token.', example: 'So11111111111111111111111111111111111111112' }),
    checkedAt: Instant.meta({ description: 'When the chain was asked.' }),
  })
  .meta({ id: 'Eligibility' });

export const SolPrice = z
  .strictObject({ price: z.number().positive().meta({ description: 'USD for one SOL.', example: 142.31 }) })
  .meta({ id: 'SolPrice' });

export const ResolveRequest = z
  .strictObject({
    identifier: z
      .string()
      .trim()
      .min(1, 'must not be empty')
      .max(128, 'must be at most 128 characters')
      .superRefine((text, ctx) => {
        const identifier = readIdentifier(text);
        if ('wrong' in identifier) ctx.addIssue({ code: 'custom', message: identifier.wrong });
      })
      .meta({ description: 'An address, a name that ends in .sol or .sns, or @handle.', example: 'coinop.sol' }),
  })
  .meta({ id: 'ResolveRequest' });

export const ResolvedWallet = z
  .object({
    identifier: z.string().meta({ description: 'As it was asked for.', example: 'coinop.sol' }),
    wallet: Wallet,
    source: z.enum(['address', 'sol', 'sns', 'handle']).meta({ description: 'What the identifier was.', example: 'sol' }),
    onCurve: z
      .boolean()
      .meta({ description: 'Whether the wallet can have a key; false for the address of a program, which only that program can spend from.' }),
  })
  .meta({ id: 'ResolvedWallet' });
