import bs58 from 'bs58';
import { z } from 'zod';
import { type Key, keyFromBase58 } from '../keys.ts';
import { invalidParams, MIN_CONTEXT_SLOT, RpcError } from './errors.ts';
import type { Node } from './node.ts';

/** One JSON-RPC method. `call` validates the parameters and returns the result. */
export interface Method {
  call(node: Node, params: readonly unknown[]): unknown;
}

/** Declares a method. @param params schema of the parameters: a tuple in which optional parameters are `nullish` */
export function method<T extends z.ZodType>(params: T, run: (node: Node, params: z.output<T>) => unknown): Method {
  return {
    call(node, input) {
      const parsed = params.safeParse(input);
      if (!parsed.success) throw invalidParams(`Invalid params: ${firstIssue(parsed.error)}`);
      return run(node, parsed.data);
    },
  };
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  return issue ? `${issue.path.length > 0 ? `${issue.path.join('.')}: ` : ''}${issue.message}` : 'malformed';
}

/** Schema of a base58 address. Its output is a `Key`. */
export const Address = z.string().transform((text, context): Key => {
  const key = keyFromBase58(text);
  if (key !== null) return key;
  context.addIssue({ code: 'custom', message: 'Invalid' });
  return z.NEVER;
});

export const Signature = z.string().refine((text) => text.length <= 88 && bs58.decodeUnsafe(text)?.length === 64, 'Invalid signature');

const older: Readonly<Record<string, 'processed' | 'confirmed' | 'finalized'>> = {
  recent: 'processed',
  single: 'confirmed',
  singleGossip: 'confirmed',
  root: 'finalized',
  max: 'finalized',
};
export const CommitmentLevel = z
  .string()
  .transform((text) => older[text] ?? text)
  .pipe(z.enum(['processed', 'confirmed', 'finalized']));

export const Slot = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** The options that most methods accept. */
export const CommitmentOptions = z.object({ commitment: CommitmentLevel.nullish(), minContextSlot: Slot.nullish() });
type CommitmentOptions = z.output<typeof CommitmentOptions> | null | undefined;

export const Encoding = z.enum(['base58', 'base64', 'base64+zstd', 'jsonParsed']);
const DataSlice = z.object({ offset: z.number().int().min(0), length: z.number().int().min(0) });
export const AccountOptions = CommitmentOptions.extend({ encoding: Encoding.nullish(), dataSlice: DataSlice.nullish() });

/**
 * Returns the slot at which a method reads.
 * @throws RpcError when this slot is before `minContextSlot`
 */
export function slotFor(node: Node, options: CommitmentOptions): number {
  const slot = node.slot(options?.commitment ?? 'finalized');
  const least = options?.minContextSlot;
  if (least !== null && least !== undefined && slot < least) {
    throw new RpcError(MIN_CONTEXT_SLOT, 'Minimum context slot has not been reached', { contextSlot: slot });
  }
  return slot;
}

export const API_VERSION = '3.1.0';

export function inContext<T>(slot: number, value: T): { context: { apiVersion: string; slot: number }; value: T } {
  return { context: { apiVersion: API_VERSION, slot }, value };
}
