import { z } from 'zod';
import { type Account, parseAddress } from './primitives.ts';

/**
 * The answers of the RPC methods that every transaction needs. The project parses them itself, because the validation of web3.js takes longer than the
 * rest of the request.
 */

const Context = z.object({ slot: z.number() });
const ErrorOrNull = z.union([z.string(), z.looseObject({})]).nullable();

export const Accounts = z.object({
  context: Context,
  value: z.array(z.object({ owner: z.string(), lamports: z.number(), data: z.tuple([z.string(), z.literal('base64')]) }).nullable()),
});

export const Statuses = z.object({
  context: Context,
  value: z.array(
    z.object({ slot: z.number(), err: ErrorOrNull, confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullish() }).nullable(),
  ),
});

export const SimulationResult = z.object({
  value: z.object({ err: ErrorOrNull, logs: z.array(z.string()).nullable(), unitsConsumed: z.number().optional() }),
});

export const Signature = z.string();

/** Decodes an account of `Accounts`. */
export const toAccount = ({ owner, lamports, data: [data] }: NonNullable<z.infer<typeof Accounts>['value'][number]>): Account => ({
  owner: parseAddress(owner),
  lamports,
  data: Buffer.from(data, 'base64'),
});
