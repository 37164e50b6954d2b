import { createHash } from 'node:crypto';
import { PublicKey } from '@solana/web3.js';
import type { TestApp } from '../app.ts';
import { createWallet, send, type TestWallet } from '../wallet.ts';

/** Mainnet addresses of the name programs and accounts. They repeat the service's constants, so that tests compare the two. */
export const NAMES = new PublicKey('namesLPneVptA9Z5rqUDD9tMTWEJwofgaYwp8cawRkX');
export const TOKENIZER = new PublicKey('nftD3vbNkNqfj2Sd3HZwbpw4BxxKWr4AjGb9X38JeZk');
const RECORDS = new PublicKey('HP3D4D1ZCmohQGFVms2SS4LCANgJyksBf5s1F77FuFjZ');
const SRS = new PublicKey('srsWjm76StJucL7atFyPSdXFaVLNPFqEt1uFEDPrZsn');
const REGISTRAR = new PublicKey('soL7856gZrjQMSJMT33YDpfAuRYbetAbkZPuv7YeLht');
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

/** The class of certified records: the state account of the records program. */
export const CERTIFIER = derive(RECORDS, RECORDS.toBytes());
/** The class of `.sol` names, which is the class of their registrar. */
export const SOL_CLASS = derive(SRS, 'class', derive(REGISTRAR, 'central_state').toBytes(), '.sol');

/** Derives the address of a name account. */
const nameKey = (label: string, parent = ROOT, nameClass = NONE) =>
  derive(NAMES, sha256(`SPL Name Service${label}`), nameClass.toBytes(), parent.toBytes());

/** Derives the addresses of all accounts of a name, `name` or `sub.name`. */
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

/** An account to write to the test cluster. */
export interface TestAccount {
  readonly address: PublicKey;
  readonly owner: PublicKey;
  readonly data: Buffer;
}

/** Builds a name account. */
export const nameAccount = (address: PublicKey, parent: PublicKey, owner: PublicKey, content = Buffer.alloc(0), nameClass = NONE): TestAccount => ({
  address,
  owner: NAMES,
  data: Buffer.concat([parent.toBytes(), owner.toBytes(), nameClass.toBytes(), content]),
});

/** Builds the account of an owned name in the name service. */
export function sns(name: string, owner: PublicKey): TestAccount {
  const { key, parent } = keysOf(name);
  return nameAccount(key, parent, owner);
}

/** Builds a SOL record of version 1, signed by `signer`. */
export function recordV1(name: string, wallet: PublicKey, signer: TestWallet, address = keysOf(name).recordV1): TestAccount {
  const message = Buffer.concat([wallet.toBytes(), address.toBytes()]).toString('hex');
  const { key, recordV1: at } = keysOf(name);
  return nameAccount(at, key, new PublicKey(signer.publicKey), Buffer.concat([wallet.toBytes(), signer.sign(Buffer.from(message))]));
}

/**
 * Builds a SOL record of version 2.
 * @param record.staleness the wallet that certified that the record is not stale
 * @param record.association the wallet that certified that it owns the content
 */
export function recordV2(
  name: string,
  record: { staleness: PublicKey; association: PublicKey; content: Uint8Array; kinds?: readonly [number, number]; nameClass?: PublicKey },
): TestAccount {
  const { staleness, association, content, kinds = [1, 1], nameClass = CERTIFIER } = record;
  const header = Buffer.alloc(8);
  header.writeUInt16LE(kinds[0], 0);
  header.writeUInt16LE(kinds[1], 2);
  header.writeUInt32LE(content.length, 4);
  const { key, recordV2: at } = keysOf(name);
  return nameAccount(at, key, CERTIFIER, Buffer.concat([header, staleness.toBytes(), association.toBytes(), content]), nameClass);
}

/** Builds the tokenizer's record of a name. Tag 2 means that the name is wrapped, 3 that it was unwrapped. */
export function nftRecord(name: string, tag = 2): TestAccount {
  const { key, nftRecord: address, mint } = keysOf(name);
  return { address, owner: TOKENIZER, data: Buffer.concat([Buffer.from([tag, 255]), key.toBytes(), NONE.toBytes(), mint.toBytes()]) };
}

/** Builds a record of the record service. */
export function srs(
  name: string,
  record: { owner: PublicKey; kind?: number; expiry?: bigint; tag?: number; recordClass?: PublicKey; seed?: Buffer; program?: PublicKey },
): TestAccount {
  const { owner, kind = 0, expiry = 0n, tag = 2, recordClass = SOL_CLASS, seed = sha256(`name${name}`), program = SRS } = record;
  const until = Buffer.alloc(8);
  until.writeBigInt64LE(expiry);
  const parts = [[tag], recordClass.toBytes(), [kind], owner.toBytes(), [0], until, [seed.length], seed, Buffer.from('metadata')];
  return { address: keysOf(name).srsRecord, owner: program, data: Buffer.concat(parts.map((part) => Buffer.from(part))) };
}

/** Appends Token-2022 extensions to an account: padding, account type, extension data. */
const extended = (data: Buffer, kind: 1 | 2) => Buffer.concat([data, Buffer.alloc(165 - data.length), Buffer.from([kind]), Buffer.alloc(40)]);

/** Builds a mint account. */
export function mintAccount(address: PublicKey, mint: { supply?: bigint; decimals?: number; program?: PublicKey } = {}): TestAccount {
  const { supply = 1n, decimals = 0, program = TOKEN } = mint;
  const data = Buffer.alloc(82);
  data.writeBigUInt64LE(supply, 36);
  data[44] = decimals;
  data[45] = 1;
  return { address, owner: program, data: program.equals(TOKEN_2022) ? extended(data, 1) : data };
}

/** Builds a token account. */
export function tokenAccount(
  address: PublicKey,
  account: { mint: PublicKey; holder: PublicKey; amount?: bigint; state?: number; program?: PublicKey },
): TestAccount {
  const { mint, holder, amount = 1n, state = 1, program = TOKEN } = account;
  const data = Buffer.alloc(165);
  data.set(mint.toBytes(), 0);
  data.set(holder.toBytes(), 32);
  data.writeBigUInt64LE(amount, 64);
  data[108] = state;
  return { address, owner: program, data: program.equals(TOKEN_2022) ? extended(data, 2) : data };
}

export const keyOf = (wallet: TestWallet): PublicKey => new PublicKey(wallet.publicKey);
/** Returns the address of a new wallet. */
export const someone = (): PublicKey => keyOf(createWallet());
/** Returns a program-derived address, which has no private key. */
export const someProgram = (): PublicKey => derive(TOKENIZER, someone().toBytes());

let names = 0;
/** Returns an unused name. */
export const freshName = (): string => `name-${++names}`;

/** Requests the wallet of an identifier. @returns status and body */
export async function resolveBy(t: Pick<TestApp, 'url'>, identifier: string): Promise<Record<string, unknown>> {
  const response = await send(t, '/api/wallet/resolve', { json: { identifier } });
  return { status: response.status, ...((await response.json()) as object) };
}

/** The expected response for a name that resolves to a wallet. */
export const resolvedTo = (identifier: string, wallet: PublicKey, onCurve = true) => ({
  status: 200,
  identifier,
  wallet: wallet.toBase58(),
  source: identifier.endsWith('.sol') ? 'sol' : 'sns',
  onCurve,
});
/** The expected response for a name that does not resolve. */
export const refused = (error: string) => ({ status: 404, error });
