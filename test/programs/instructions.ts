import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AccountMeta, Keypair, type PublicKey, TransactionInstruction } from '@solana/web3.js';
import type { Svm } from './svm.ts';

/** Reads an attacking program of the tests. */
export const fixture = (name: string) => readFileSync(join(import.meta.dirname, `fixtures/${name}.so`));

export const key = () => Keypair.generate().publicKey;
export const account = (pubkey: PublicKey, isWritable = false, isSigner = false): AccountMeta => ({ pubkey, isWritable, isSigner });

/** Returns a copy of an instruction with changed accounts or data. */
export function changedInstruction(
  instruction: TransactionInstruction,
  change: {
    keys?: Record<number, Partial<AccountMeta>>;
    data?: (data: Buffer) => Uint8Array;
    more?: AccountMeta[];
    fewer?: number;
    program?: PublicKey;
  },
): TransactionInstruction {
  const rest = instruction.keys.slice(0, instruction.keys.length - (change.fewer ?? 0));
  return new TransactionInstruction({
    programId: change.program ?? instruction.programId,
    keys: [...rest.map((meta, i) => ({ ...meta, ...change.keys?.[i] })), ...(change.more ?? [])],
    data: Buffer.from(change.data?.(Buffer.from(instruction.data)) ?? instruction.data),
  });
}

/** Deploys a program that forwards an instruction `times` times. Bit masks remove signer and writable flags. */
export function relaying(svm: Svm) {
  const relay = key();
  svm.addProgram(relay, fixture('relay'));
  return (instruction: TransactionInstruction, { times = 1, unsigned = 0, readonly = 0 } = {}) =>
    new TransactionInstruction({
      programId: relay,
      keys: [account(instruction.programId), ...instruction.keys],
      data: Buffer.concat([Buffer.from([times, unsigned, readonly]), instruction.data]),
    });
}
