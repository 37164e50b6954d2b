import { createHash } from 'node:crypto';
import bs58 from 'bs58';
import { type SignInInput, signInText, type TestWallet } from '../wallet.ts';

export const MEMO_PROGRAM = bs58.decode('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');

/** The parts of a transaction. Tests may set invalid values. */
export interface TransactionParts {
  version?: 'legacy' | number;
  /** The signers, fee payer first. */
  signers: readonly TestWallet[];
  /** Number of required signatures, of read-only signers and of read-only other accounts. */
  header?: readonly [number, number, number];
  /** Account keys after the signers' keys. */
  keys?: readonly Uint8Array[];
  blockhash: Uint8Array;
  instructions: readonly { program: number; accounts?: readonly number[]; data: Uint8Array }[];
  lookups?: readonly Uint8Array[];
}

const compact = (n: number): number[] => (n < 0x80 ? [n] : [(n & 0x7f) | 0x80, ...compact(n >> 7)]);
const counted = (bytes: Uint8Array | readonly number[]) => Buffer.from([...compact(bytes.length), ...bytes]);

/** Encodes and signs a transaction in the wire format. */
export function transaction(parts: TransactionParts): Buffer {
  const { version = 'legacy', signers, keys = [MEMO_PROGRAM], lookups = [] } = parts;
  const all = [...signers.map((s) => s.publicKey), ...keys];
  const message = Buffer.concat([
    Buffer.from(version === 'legacy' ? [] : [0x80 | version]),
    Buffer.from(parts.header ?? [signers.length, 0, keys.length]),
    Buffer.from(compact(all.length)),
    ...all,
    parts.blockhash,
    Buffer.from(compact(parts.instructions.length)),
    ...parts.instructions.flatMap((i) => [Buffer.from([i.program]), counted(i.accounts ?? []), counted(i.data)]),
    ...(version === 'legacy' ? [] : [Buffer.from(compact(lookups.length)), ...lookups]),
  ]);
  return Buffer.concat([Buffer.from(compact(signers.length)), ...signers.map((s) => s.sign(message)), message]);
}

/** Returns the parts of a valid sign-in transaction. */
export function signInParts(input: SignInInput, wallet: TestWallet): TransactionParts {
  return {
    signers: [wallet],
    blockhash: createHash('sha256').update(`coinop/sign-in${input.nonce}`).digest(),
    instructions: [{ program: 1, data: Buffer.from(signInText(input, wallet.address)) }],
  };
}
