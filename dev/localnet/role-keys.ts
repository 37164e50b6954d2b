import { createHash } from 'node:crypto';
import { Keypair } from '@solana/web3.js';

type Role = 'feePayer' | 'epochAuthority' | 'treasury' | 'committer' | 'mintAuthority' | 'program' | 'rewardMint' | 'usdcMint';
/** Who signs what: names as in the product, and those that exist for development alone. */
export type LocalnetKeys = Readonly<Record<Role, Keypair>>;

/** The keys of a localnet: the same for the same seed. */
export function keysOf(seed: Buffer): LocalnetKeys {
  const key = (role: string) => Keypair.fromSeed(createHash('sha256').update(`role ${role}`).update(seed).digest());
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
