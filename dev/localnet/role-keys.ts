import { createHash } from 'node:crypto';
import { type Signer, signerFromSeed } from '#platform/solana/primitives.ts';

type Role = 'feePayer' | 'epochAuthority' | 'treasury' | 'committer' | 'mintAuthority' | 'program' | 'rewardMint' | 'usdcMint';
/** Key pairs, one per role. The keys of the mint authority, the program and the mints exist only on a localnet. */
export type LocalnetKeys = Readonly<Record<Role, Signer>>;

/** Derives the keys of a localnet from its seed. */
export function keysOf(seed: Buffer): LocalnetKeys {
  const key = (role: string) => signerFromSeed(createHash('sha256').update(`role ${role}`).update(seed).digest());
  return {
    feePayer: key('feePayer'),
    epochAuthority: key('epochAuthority'),
    treasury: key('treasury'),
    committer: key('committer'),
    mintAuthority: key('mintAuthority'),
    program: key('program'),
    rewardMint: key('rewardMint'),
    usdcMint: key('usdcMint'),
  };
}
