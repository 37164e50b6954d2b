import { z } from 'zod';
import { Instant, Wallet } from '#lib/scalars.ts';
import { parseIdentifier } from './identifiers.ts';

const BaseUnits = z.string().regex(/^\d+$/);

export const Eligibility = z
  .object({
    eligible: z.boolean().meta({ description: 'Whether the balance is at least the minimum.' }),
    tokenBalance: BaseUnits.meta({
      description: 'Token balance over all token accounts of the wallet, including frozen accounts, base units.',
      example: '2500000000',
    }),
    minimum: BaseUnits.meta({ description: 'Minimum balance of the gate, base units.', example: '1000000' }),
    mint: Wallet.meta({ description: 'Mint of the token.', example: 'So11111111111111111111111111111111111111112' }),
    checkedAt: Instant.meta({ description: 'Time at which the balance was read from the RPC node.' }),
  })
  .meta({ id: 'Eligibility' });

export const OwnName = z
  .strictObject({
    name: z.string().nullable().meta({
      description: 'Name with which lists show the wallet: the handle of its linked account, or else its chosen .sol name; null without both.',
      example: 'coinop.sol',
    }),
    solName: z.string().nullable().meta({ description: 'The .sol name that the wallet chose; null when it chose none.', example: 'coinop.sol' }),
  })
  .meta({ id: 'OwnName' });

export const OwnNameRequest = z
  .strictObject({
    solName: z
      .string('must be a .sol name, or null')
      .trim()
      .max(128, 'must be at most 128 characters')
      .nullable()
      .meta({ description: 'A .sol name that resolves to the caller’s wallet; null to show none.', example: 'coinop.sol' }),
  })
  .meta({ id: 'OwnNameRequest' });

export const SolPrice = z
  .strictObject({ price: z.number().positive().meta({ description: 'USD per SOL.', example: 142.31 }) })
  .meta({ id: 'SolPrice' });

export const ResolveRequest = z
  .strictObject({
    identifier: z
      .string()
      .trim()
      .min(1, 'must not be empty')
      .max(128, 'must be at most 128 characters')
      .superRefine((text, ctx) => {
        const identifier = parseIdentifier(text);
        if ('error' in identifier) ctx.addIssue({ code: 'custom', message: identifier.error });
      })
      .meta({ description: 'An address, a name that ends in .sol or .sns, or @handle.', example: 'coinop.sol' }),
  })
  .meta({ id: 'ResolveRequest' });

export const ResolvedWallet = z
  .object({
    identifier: z.string().meta({ description: 'The identifier of the request.', example: 'coinop.sol' }),
    wallet: Wallet,
    source: z.enum(['address', 'sol', 'sns', 'handle']).meta({ description: 'Kind of the identifier.', example: 'sol' }),
    onCurve: z.boolean().meta({
      description: 'Whether the address can have a private key. False for the address of a program, which only this program can spend from.',
    }),
  })
  .meta({ id: 'ResolvedWallet' });
