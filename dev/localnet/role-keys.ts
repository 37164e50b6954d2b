import { createHash } from 'node:crypto';
import { type Signer, signerFromSeed } from '#platform/solana/primitives.ts';

type Role =
  | 'feePayer'
  | 'epochAuthority'
  | 'treasury'
  | 'committer'
  | 'founder'
  | 'receipts'
  | 'mintAuthority'
  | 'program'
  | 'drawsProgram'
  | 'rewardMint'
  | 'usdcMint';
/**
 * Key pairs, one per role. `founder` creates the draws account, and `receipts` signs receipts. The keys of the mint authority, the programs and the
 * mints exist only on a localnet.
 */
export type LocalnetKeys = Readonly<Record<Role, Signer>>;

/** Derives the keys of a localnet from its seed. */
export function keysOf(seed: Buffer): LocalnetKeys {
  const key = (role: string) => signerFromSeed(createHash('sha256').update(`role ${role}`).update(seed).digest());
  return {
    feePayer: key('feePayer'),
    epochAuthority: key('epochAuthority'),
    treasury: key('treasury'),
    committer: key('committer'),
    founder: key('founder'),
    receipts: key('receipts'),
    mintAuthority: key('mintAuthority'),
    program: key('program'),
    drawsProgram: key('drawsProgram'),
    rewardMint: key('rewardMint'),
    usdcMint: key('usdcMint'),
  };
}
