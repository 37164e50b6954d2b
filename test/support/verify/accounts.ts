import bs58 from 'bs58';
import type { CommitmentAccount, DrawsAccount } from '#lib/draw/accounts.ts';

/** Encodes the data of a draws account as the program does. */
export function encodeDraws(account: DrawsAccount): Uint8Array {
  const data = Buffer.alloc(160);
  data.write('CoinopDr', 'latin1');
  data.set([1, account.isDevelopment ? 1 : 0, account.bump], 8);
  data.writeUInt32LE(account.period, 12);
  data.writeBigInt64LE(BigInt(account.genesis), 16);
  data.writeUInt32LE(account.margin, 24);
  data.writeUInt32LE(account.window, 28);
  data.set(bs58.decode(account.founder), 32);
  data.set(bs58.decode(account.committer), 64);
  data.write(account.chainHash, 96, 'hex');
  data.set(bs58.decode(account.receiptKey), 128);
  return new Uint8Array(data);
}

/** Encodes the data of a commitment account as the program does. */
export function encodeCommitment(account: CommitmentAccount): Uint8Array {
  const data = Buffer.alloc(120);
  data.write('CoinopCm', 'latin1');
  data.set([1, account.bump], 8);
  data.write(account.round.replaceAll('-', ''), 16, 'hex');
  data.writeBigUInt64LE(BigInt(account.beaconRound), 32);
  data.writeBigUInt64LE(BigInt(account.slot), 40);
  data.writeBigInt64LE(BigInt(account.time), 48);
  data.write(account.leaf, 56, 'hex');
  data.set(bs58.decode(account.draws), 88);
  return new Uint8Array(data);
}
