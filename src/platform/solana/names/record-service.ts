import { createHash } from 'node:crypto';
import { type AccountInfo, PublicKey } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { holderOf, TOKEN_2022_PROGRAM } from './holder.ts';
import type { Name } from './name.ts';
import { ownedBy, UNKNOWN, UNREADABLE, type Verdict } from './verdict.ts';

/** The Solana Record Service, and the class of its records that are `.sol` names: that of their registrar (soL7856gZrjQMSJMT33YDpfAuRYbetAbkZPuv7YeLht). */
export const RECORD_SERVICE = new PublicKey('srsWjm76StJucL7atFyPSdXFaVLNPFqEt1uFEDPrZsn');
export const SOL_CLASS = new PublicKey('Dqc9TrYg1AZLEa6UkZUqCDrr9zsHQveo1szGTE1BTW5');

/** A record: its tag, the class, the kind of owner, the owner, whether it is frozen, its expiry (i64), the length of the seed, the seed, data. */
const RECORD = 2;
const AT = { class: 1, ownerKind: 33, owner: 34, expiry: 67, seedLength: 75, seed: 76 } as const;
const SEED_BYTES = 32;
const OWNER_KINDS = { wallet: 0, token: 1 } as const;

/** What a name's record is derived from. Names below names are hashed as a whole. */
const seedOf = ({ labels }: Name): Buffer =>
  createHash('sha256')
    .update(`name${labels.join('.')}`)
    .digest();

const pda = (...seeds: Buffer[]) => PublicKey.findProgramAddressSync(seeds, RECORD_SERVICE)[0];

/** The address of a name's record. */
export const recordAddress = (name: Name): PublicKey => pda(Buffer.from('record'), SOL_CLASS.toBuffer(), seedOf(name));

/** Which wallet the record service says a name belongs to: its owner, or who holds the token that owns it. */
export async function judgeBySrs(app: App, name: Name, account: AccountInfo<Buffer> | null): Promise<Verdict> {
  if (!account) return UNKNOWN;
  const { data, owner: program } = account;
  if (!program.equals(RECORD_SERVICE) || data.length < AT.seed + SEED_BYTES || data[0] !== RECORD) return UNREADABLE;
  const key = (at: number) => new PublicKey(data.subarray(at, at + 32));
  if (!key(AT.class).equals(SOL_CLASS) || data[AT.seedLength] !== SEED_BYTES) return UNREADABLE;
  if (!data.subarray(AT.seed, AT.seed + SEED_BYTES).equals(seedOf(name))) return UNREADABLE;
  // The program stores the expiry, and leaves it to readers: seconds, 0 for never.
  const expiry = data.readBigInt64LE(AT.expiry);
  if (expiry !== 0n && expiry * 1_000n <= BigInt(app.clock.now().getTime())) return { refused: 'the name has expired' };
  const owner = key(AT.owner);
  if (data[AT.ownerKind] === OWNER_KINDS.wallet) return ownedBy(owner);
  const mint = pda(Buffer.from('mint'), recordAddress(name).toBuffer());
  if (data[AT.ownerKind] !== OWNER_KINDS.token || !owner.equals(mint)) return UNREADABLE;
  return await holderOf(app, mint, TOKEN_2022_PROGRAM);
}
