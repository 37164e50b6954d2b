import { createHash } from 'node:crypto';
import { PublicKey } from '@solana/web3.js';
import type { TestApp } from '../app.ts';
import { createWallet, send, type TestWallet } from '../wallet.ts';

/** Programs and accounts of mainnet that names are made of; written apart from the service's, so that tests compare the two. */
export const NAMES = new PublicKey('namesLPneVptA9Z5rqUDD9tMTWEJwofgaYwp8cawRkX');
export const TOKENIZER = new PublicKey('nftD3vbNkNqfj2Sd3HZwbpw4BxxKWr4AjGb9X38JeZk');
export const RECORDS = new PublicKey('HP3D4D1ZCmohQGFVms2SS4LCANgJyksBf5s1F77FuFjZ');
export const SRS = new PublicKey('srsWjm76StJucL7atFyPSdXFaVLNPFqEt1uFEDPrZsn');
export const REGISTRAR = new PublicKey('soL7856gZrjQMSJMT33YDpfAuRYbetAbkZPuv7YeLht');
export const TOKEN = new PublicKey('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const TOKEN_2022 = new PublicKey('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');
const ROOT = new PublicKey('58PwtjSDuFHuUkYjH9BYnnQKHfwo9reZhC2zMJv9JPkx');
export const NONE = PublicKey.default;

const derive = (program: PublicKey, ...seeds: (string | Uint8Array)[]) =>
  PublicKey.findProgramAddressSync(
    seeds.map((seed) => Buffer.from(seed)),
    program,
  )[0];
const sha256 = (text: string) => createHash('sha256').update(text).digest();

/** What certifies records: the state of their program. */
export const CERTIFIER = derive(RECORDS, RECORDS.toBytes());
/** The class of `.sol` names: the registrar's. */
export const SOL_CLASS = derive(SRS, 'class', derive(REGISTRAR, 'central_state').toBytes(), '.sol');

/** The address of a name account. */
export const nameKey = (label: string, parent = ROOT, nameClass = NONE) =>
  derive(NAMES, sha256(`SPL Name Service${label}`), nameClass.toBytes(), parent.toBytes());

/** Where everything of a name stands: `name` or `sub.name`. */
export function keysOf(name: string) {
  const [label = '', above] = name.split('.');
  const parent = above === undefined ? ROOT : nameKey(above);
  const key = above === undefined ? nameKey(label) : nameKey(`\0${label}`, parent);
  const record = derive(SRS, 'record', SOL_CLASS.toBytes(), sha256(`name${name}`));
  return {
    key,
    parent,
    nftRecord: derive(TOKENIZER, 'nft_record', key.toBytes()),
    mint: derive(TOKENIZER, 'tokenized_name', key.toBytes()),
    recordV1: nameKey('\x01SOL', key),
    recordV2: nameKey('\x02SOL', key, CERTIFIER),
    srsRecord: record,
    srsMint: derive(SRS, 'mint', record.toBytes()),
  };
}

/** An account that a test writes. */
export interface Written {
  readonly address: PublicKey;
  readonly owner: PublicKey;
  readonly data: Buffer;
}

/** A name account. */
export const nameAccount = (address: PublicKey, parent: PublicKey, owner: PublicKey, content = Buffer.alloc(0), nameClass = NONE): Written => ({
  address,
  owner: NAMES,
  data: Buffer.concat([parent.toBytes(), owner.toBytes(), nameClass.toBytes(), content]),
});

/** A name of the name service that somebody owns. */
export function sns(name: string, owner: PublicKey): Written {
  const { key, parent } = keysOf(name);
  return nameAccount(key, parent, owner);
}

/** A SOL record of the first version: signed by the name's owner, or whoever. */
export function recordV1(name: string, wallet: PublicKey, signer: TestWallet, address = keysOf(name).recordV1): Written {
  const message = Buffer.concat([wallet.toBytes(), address.toBytes()]).toString('hex');
  const { key, recordV1: at } = keysOf(name);
  return nameAccount(at, key, new PublicKey(signer.publicKey), Buffer.concat([wallet.toBytes(), signer.sign(Buffer.from(message))]));
}

/** A SOL record of the second version: who vouched that it is not stale, who that it is his, and what it says. */
export function recordV2(
  name: string,
  record: { staleness: PublicKey; association: PublicKey; content: Uint8Array; kinds?: readonly [number, number]; nameClass?: PublicKey },
): Written {
  const { staleness, association, content, kinds = [1, 1], nameClass = CERTIFIER } = record;
  const header = Buffer.alloc(8);
  header.writeUInt16LE(kinds[0], 0);
  header.writeUInt16LE(kinds[1], 2);
  header.writeUInt32LE(content.length, 4);
  const { key, recordV2: at } = keysOf(name);
  return nameAccount(at, key, CERTIFIER, Buffer.concat([header, staleness.toBytes(), association.toBytes(), content]), nameClass);
}

/** What the tokenizer keeps of a name: tag 2 while it keeps the name, 3 after. */
export function nftRecord(name: string, tag = 2): Written {
  const { key, nftRecord: address, mint } = keysOf(name);
  return { address, owner: TOKENIZER, data: Buffer.concat([Buffer.from([tag, 255]), key.toBytes(), NONE.toBytes(), mint.toBytes()]) };
}

/** A record of the record service. */
export function srs(
  name: string,
  record: { owner: PublicKey; kind?: number; expiry?: bigint; tag?: number; recordClass?: PublicKey; seed?: Buffer; program?: PublicKey },
): Written {
  const { owner, kind = 0, expiry = 0n, tag = 2, recordClass = SOL_CLASS, seed = sha256(`name${name}`), program = SRS } = record;
  const until = Buffer.alloc(8);
  until.writeBigInt64LE(expiry);
  const parts = [[tag], recordClass.toBytes(), [kind], owner.toBytes(), [0], until, [seed.length], seed, Buffer.from('metadata')];
  return { address: keysOf(name).srsRecord, owner: program, data: Buffer.concat(parts.map((part) => Buffer.from(part))) };
}

/** The bytes that Token-2022 puts behind an account that has extensions: padding, what it is, the extensions. */
const extended = (data: Buffer, kind: 1 | 2) => Buffer.concat([data, Buffer.alloc(165 - data.length), Buffer.from([kind]), Buffer.alloc(40)]);

/** A mint. */
export function mintAccount(address: PublicKey, mint: { supply?: bigint; decimals?: number; program?: PublicKey } = {}): Written {
  const { supply = 1n, decimals = 0, program = TOKEN } = mint;
  const data = Buffer.alloc(82);
  data.writeBigUInt64LE(supply, 36);
  data[44] = decimals;
  data[45] = 1;
  return { address, owner: program, data: program.equals(TOKEN_2022) ? extended(data, 1) : data };
}

/** A token account. */
export function tokenAccount(
  address: PublicKey,
  account: { mint: PublicKey; holder: PublicKey; amount?: bigint; state?: number; program?: PublicKey },
): Written {
  const { mint, holder, amount = 1n, state = 1, program = TOKEN } = account;
  const data = Buffer.alloc(165);
  data.set(mint.toBytes(), 0);
  data.set(holder.toBytes(), 32);
  data.writeBigUInt64LE(amount, 64);
  data[108] = state;
  return { address, owner: program, data: program.equals(TOKEN_2022) ? extended(data, 2) : data };
}

export const keyOf = (wallet: TestWallet): PublicKey => new PublicKey(wallet.publicKey);
/** A wallet that nobody has seen before, and an address that nobody has the key of. */
export const someone = (): PublicKey => keyOf(createWallet());
export const someProgram = (): PublicKey => derive(TOKENIZER, someone().toBytes());

let names = 0;
/** A name that nobody has used. */
export const freshName = (): string => `name-${++names}`;

/** Asks an application for the wallet of an identifier: the status, and what it says. */
export async function resolveBy(t: Pick<TestApp, 'url'>, identifier: string): Promise<Record<string, unknown>> {
  const response = await send(t, '/api/wallet/resolve', { json: { identifier } });
  return { status: response.status, ...((await response.json()) as object) };
}

/** What it says of a name that leads to a wallet, and of one that leads nowhere. */
export const resolvedTo = (identifier: string, wallet: PublicKey, onCurve = true) => ({
  status: 200,
  identifier,
  wallet: wallet.toBase58(),
  source: identifier.endsWith('.sol') ? 'sol' : 'sns',
  onCurve,
});
export const refused = (error: string) => ({ status: 404, error });
