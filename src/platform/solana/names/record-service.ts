import { createHash } from 'node:crypto';
import type { App } from '#platform/app.ts';
import { type Address, addressOfBytes, deriveAddress, type FetchedAccount, parseAddress } from '../primitives.ts';
import { resolveByToken, TOKEN_2022_PROGRAM } from './holder.ts';
import type { Name } from './name.ts';
import { type NameResolution, NO_SUCH_NAME, resolvesToOwner, UNREADABLE_NAME } from './resolution.ts';

/** Program address of the Solana Record Service. */
const RECORD_SERVICE = parseAddress('srsWjm76StJucL7atFyPSdXFaVLNPFqEt1uFEDPrZsn');
/** The class of the records of `.sol` names. The registrar of `.sol` names (soL7856gZrjQMSJMT33YDpfAuRYbetAbkZPuv7YeLht) owns this class. */
export const SOL_CLASS = parseAddress('Dqc9TrYg1AZLEa6UkZUqCDrr9zsHQveo1szGTE1BTW5');

/**
 * First byte of a record account. The layout of a record account is: this byte, class, type of owner, owner, frozen flag, expiry (i64), length of the
 * seed, seed, data.
 */
const RECORD = 2;
const AT = { class: 1, ownerType: 33, owner: 34, expiry: 67, seedLength: 75, seed: 76 } as const;
const SEED_BYTES = 32;
const OWNER_TYPES = { wallet: 0, token: 1 } as const;

/** Returns the seed from which the address of a name's record is derived. The seed is a hash of all labels of the name. */
const seedOf = ({ labels }: Name): Buffer =>
  createHash('sha256')
    .update(`name${labels.join('.')}`)
    .digest();

const pda = (...seeds: Buffer[]) => deriveAddress(RECORD_SERVICE, ...seeds);

/** Returns the address of a name's record. */
export const recordAddress = (name: Name): Address => pda(Buffer.from('record'), SOL_CLASS.toBuffer(), seedOf(name));

/** Resolves a name by its record: to the wallet that owns the record, or to the holder of the token that owns the record. */
export async function resolveBySrs(app: App, name: Name, account: FetchedAccount): Promise<NameResolution> {
  if (!account) return NO_SUCH_NAME;
  const { data, owner: program } = account;
  if (!program.equals(RECORD_SERVICE) || data[0] !== RECORD) return UNREADABLE_NAME;
  const key = (at: number) => addressOfBytes(data.subarray(at, at + 32));
  if (!key(AT.class).equals(SOL_CLASS) || data[AT.seedLength] !== SEED_BYTES) return UNREADABLE_NAME;
  // This comparison also refuses data that ends before the end of the seed.
  if (!data.subarray(AT.seed, AT.seed + SEED_BYTES).equals(seedOf(name))) return UNREADABLE_NAME;
  // The record service stores the expiry time but does not enforce it, so this function checks the expiry time. Unix time in seconds; 0 means that
  // the name never expires.
  const expiry = data.readBigInt64LE(AT.expiry);
  if (expiry !== 0n && expiry * 1_000n <= BigInt(app.clock.now().getTime())) return { refused: 'the name has expired' };
  const owner = key(AT.owner);
  if (data[AT.ownerType] === OWNER_TYPES.wallet) return resolvesToOwner(owner);
  const mint = pda(Buffer.from('mint'), recordAddress(name).toBuffer());
  if (data[AT.ownerType] !== OWNER_TYPES.token || !owner.equals(mint)) return UNREADABLE_NAME;
  return await resolveByToken(app, mint, TOKEN_2022_PROGRAM);
}
