import bs58 from 'bs58';
import { commitmentAddress, type DrawsAccount, drawsAddress, programAddress } from '#lib/draw/accounts.ts';
import type { Audit } from '#lib/draw/audit.ts';
import { timeOf } from '#lib/draw/beacon-chain.ts';
import { buildAudit, type RoundFacts } from '#lib/draw/build.ts';
import { type Entry, entryLeaves, entryLine } from '#lib/draw/entry.ts';
import type { RoundParameters } from '#lib/draw/parameters.ts';
import { membersHash, type PayoutMember, type PublishedPayouts, payoutMemo } from '#lib/draw/payout.ts';
import { runningHashes } from '#lib/draw/round-leaf.ts';
import { type Receipt, receiptStatement, signStatement } from '#lib/draw/statements.ts';
import { type HttpSource, programHash, RpcFault, type RpcSource, type VerifyOptions } from '#packages/verify/src/index.ts';
import { addressOf, beacon, bytesOf, CHAIN, drawsOf, finished, GENESIS_HASH, PROGRAM, RECEIPT_KEY, TREASURY, uuidOf } from '#test/lib/draw/rounds.ts';
import { encodeCommitment, encodeDraws } from './accounts.ts';

const UPGRADEABLE_LOADER = 'BPFLoaderUpgradeab1e11111111111111111111111';
const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const SLOT_MS = 400;

export interface FakeAccount {
  owner: string;
  data: Uint8Array;
}

/** A transaction that transfers tokens of the treasury to wallets, as a node answers it. */
export interface FakeTransaction {
  slot: number;
  blockTime: number;
  err: unknown;
  memos: string[];
  transfers: { mint: string; wallet: string; amount: string; from: string }[];
}

/**
 * A house, a chain and a beacon in memory, in which one round was drawn and paid. A test changes any part of it before it verifies the round. The
 * three sources read the present state.
 */
export interface World {
  readonly facts: RoundFacts & { readonly commitment: NonNullable<RoundFacts['commitment']> };
  readonly entries: readonly Entry[];
  /** What the house shows. A null document is answered with 404. */
  audit: Audit | null;
  lines: string | null;
  payouts: PublishedPayouts | null;
  /** What the chain holds. */
  readonly accounts: Map<string, FakeAccount>;
  readonly transactions: Map<string, FakeTransaction>;
  readonly addresses: { readonly draws: string; readonly commitment: string; readonly program: string; readonly programData: string };
  genesisHash: string;
  /** Duration of a slot on the chain's clock, ms. */
  slotMs: number;
  /** Answers of the beacon by round; rounds that are absent are answered by the honest beacon. */
  readonly signatures: Map<number, string>;
  now: number;
  /** Time of the beacon round, ms. */
  readonly drawnAt: number;
  readonly sources: { readonly house: HttpSource; readonly rpc: RpcSource; readonly beacon: HttpSource };
  /** Returns the receipt of an entry. */
  receipt(index: number): Receipt;
  options(over?: Partial<VerifyOptions>): VerifyOptions;
}

/** Returns the address of a wallet's associated token account. */
export const tokenAccount = (wallet: string, mint: string) =>
  programAddress(ASSOCIATED_TOKEN_PROGRAM, bs58.decode(wallet), bs58.decode(TOKEN_PROGRAM), bs58.decode(mint)).address;

/** Sets the accounts of the program, a draws account and the commitment of a round. */
export function deploy(accounts: Map<string, FakeAccount>, draws: DrawsAccount, facts: World['facts'], code: Uint8Array) {
  const programData = programAddress(UPGRADEABLE_LOADER, bs58.decode(PROGRAM)).address;
  const { parameters, commitment } = facts;
  const { address, bump } = commitmentAddress(PROGRAM, parameters.draws, parameters.round);
  const program = Buffer.alloc(36);
  program.writeUInt32LE(2);
  program.set(bs58.decode(programData), 4);
  const data = Buffer.concat([Buffer.alloc(45), code, Buffer.alloc(64)]);
  data.writeUInt32LE(3);
  data.writeBigUInt64LE(1_000n, 4);
  const { beaconRound, slot, at, leaf } = commitment;
  const account = { bump, round: parameters.round, beaconRound, slot, time: Date.parse(at) / 1_000, leaf, draws: parameters.draws };
  accounts.set(parameters.draws, { owner: PROGRAM, data: encodeDraws(draws) });
  accounts.set(address, { owner: PROGRAM, data: encodeCommitment(account) });
  accounts.set(PROGRAM, { owner: UPGRADEABLE_LOADER, data: program });
  accounts.set(programData, { owner: UPGRADEABLE_LOADER, data });
  return { draws: parameters.draws, commitment: address, program: PROGRAM, programData };
}

/** The code of the deployed program. */
export const CODE = bytesOf('the code of the program');

function payoutsOf(audit: Audit): { published: PublishedPayouts; signature: string; batch: string; members: PayoutMember[] } {
  const { round } = audit;
  const batch = uuidOf(`batch of ${round}`);
  const signature = bs58.encode(Buffer.concat([bytesOf(round), bytesOf(batch)]));
  const prizes = (audit.winners ?? []).filter(({ prize }) => prize.amount !== '0');
  const members = prizes.map(({ place, wallet, prize }) => ({ paymentId: uuidOf(`payment ${round} ${place}`), round, place, wallet, ...prize }));
  const payouts = members.map(({ paymentId, place, wallet, amount, mint }) => ({ place, wallet, amount, mint, paymentId, signature, batch }));
  return { published: { round, payouts, batches: members.length > 0 ? [{ id: batch, members }] : [] }, signature, batch, members };
}

/** Creates a world in which a round was drawn and paid an hour ago. */
export function createWorld(parameters: RoundParameters, entries: readonly Entry[], draws: DrawsAccount = drawsOf(CHAIN)): World {
  const facts = finished(parameters, entries);
  const audit = buildAudit(facts, entries);
  const accounts = new Map<string, FakeAccount>();
  const addresses = deploy(accounts, draws, facts, CODE);
  const drawnAt = timeOf(CHAIN, facts.commitment.beaconRound);
  const { published, signature, batch, members } = payoutsOf(audit);
  const transfers = members.map(({ mint, wallet, amount }) => ({ mint, wallet, amount, from: TREASURY }));
  const paid = {
    slot: facts.commitment.slot + 1_000,
    blockTime: drawnAt / 1_000 + 60,
    err: null,
    memos: [payoutMemo(batch, membersHash(members))],
    transfers,
  };
  const { round, draws: address } = parameters;
  const hash = facts.closed.statement.parametersHash;
  const world: World = {
    ...{
      facts,
      entries,
      audit: structuredClone(audit),
      payouts: published,
      accounts,
      addresses,
      genesisHash: GENESIS_HASH,
      slotMs: SLOT_MS,
      drawnAt,
    },
    lines: entries.map((entry) => `${entryLine(entry)}\n`).join(''),
    transactions: new Map([[signature, paid]]),
    signatures: new Map(),
    now: drawnAt + 3_600_000,
    receipt(index) {
      const entry = entries[index];
      if (!entry) throw new Error(`there is no entry ${index}`);
      const running = runningHashes(bytesOfHex(hash), entryLeaves(round, entries)).subarray(32 * index, 32 * (index + 1));
      const named = { draws: address, round, parametersHash: hash };
      return signStatement(receiptStatement(named, uuidOf(`entry ${index}`), entry, Buffer.from(running).toString('hex')), RECEIPT_KEY.sign);
    },
    sources: {
      house: (path) => houseAnswer(world, path),
      rpc: (method, params) => rpcAnswer(world, method, params),
      beacon: async (path) => beaconAnswer(world, path),
    },
    options: (over = {}) => ({
      ...{ round, ...world.sources },
      pins: { draws: address, beacon: CHAIN.chainHash, program: programHash(CODE), treasury: TREASURY, genesisHash: GENESIS_HASH },
      ...{ now: () => world.now, wait: async () => undefined },
      ...over,
    }),
  };
  return world;
}

const bytesOfHex = (text: string) => new Uint8Array(Buffer.from(text, 'hex'));

async function houseAnswer({ audit, lines, payouts, facts }: World, path: string) {
  const { kind, round } = facts.parameters;
  const base = kind === 'chat' ? `/chat/round/${round}` : `/round/${round}`;
  const documents: Readonly<Record<string, string | null>> = {
    [`${base}/audit`]: audit && JSON.stringify(audit),
    [`${base}/entries?format=ndjson`]: lines,
    [`${base}/payouts`]: payouts && JSON.stringify(payouts),
  };
  const text = documents[path] ?? null;
  return text === null ? { status: 404, text: '{"error":"there is no such document"}' } : { status: 200, text };
}

function beaconAnswer({ signatures, now }: World, path: string) {
  const [, round] = /\/public\/(\d+)$/.exec(path) ?? [];
  if (path === `/${CHAIN.chainHash}/info`) return { status: 200, text: JSON.stringify(beacon.info()) };
  const answer = round === undefined ? null : beacon.round(Number(round), now);
  if (answer === null) return { status: 404, text: '' };
  return { status: 200, text: JSON.stringify({ ...answer, signature: signatures.get(Number(round)) ?? answer.signature }) };
}

/** Returns whether a slot has no block. */
const isSkipped = ({ facts: { commitment } }: World, slot: number) => slot !== commitment.slot && slot % 7 === 0;

/** Returns the latest finalized slot of the chain; it has a block. */
function tipOf(world: World): number {
  const { commitment } = world.facts;
  const slot = commitment.slot + Math.floor((world.now - 13_000 - Date.parse(commitment.at)) / world.slotMs);
  return isSkipped(world, slot) ? slot - 1 : slot;
}

async function rpcAnswer(world: World, method: string, params: readonly unknown[]): Promise<unknown> {
  const { commitment } = world.facts;
  const [first] = params;
  switch (method) {
    case 'getGenesisHash':
      return world.genesisHash;
    case 'getSlot':
      return tipOf(world);
    case 'getFirstAvailableBlock':
      return 0;
    case 'getMultipleAccounts': {
      const addresses = Array.isArray(first) ? first.map(String) : [];
      const found = addresses.map((address) => world.accounts.get(address) ?? null);
      const value = found.map((account) => account && { owner: account.owner, data: [Buffer.from(account.data).toString('base64'), 'base64'] });
      return { context: { slot: tipOf(world) }, value };
    }
    case 'getBlock': {
      const slot = Number(first);
      if (slot > tipOf(world)) throw new RpcFault(-32_004, `Block not available for slot ${slot}`);
      if (isSkipped(world, slot)) throw new RpcFault(-32_007, `Slot ${slot} was skipped`);
      const time = Math.floor((Date.parse(commitment.at) + (slot - commitment.slot) * world.slotMs) / 1_000);
      return { blockhash: slot === commitment.slot ? commitment.blockhash : addressOf(`block ${slot}`), blockTime: time };
    }
    case 'getTransaction':
      return transactionAnswer(world.transactions.get(String(first)));
    default:
      throw new RpcFault(-32_601, `Method not found: ${method}`);
  }
}

function transactionAnswer(transaction: FakeTransaction | undefined): unknown {
  if (transaction === undefined) return null;
  const keys: string[] = [];
  const indexOf = (key: string) => {
    if (!keys.includes(key)) keys.push(key);
    return keys.indexOf(key);
  };
  const memos = transaction.memos.map((text) => ({ programIdIndex: indexOf(MEMO_PROGRAM), accounts: [], data: bs58.encode(Buffer.from(text)) }));
  const transfers = transaction.transfers.map(({ mint, wallet, amount, from }) => {
    const data = Buffer.alloc(10);
    data.writeUInt8(12);
    data.writeBigUInt64LE(BigInt(amount), 1);
    data.writeUInt8(6, 9);
    const accounts = [tokenAccount(from, mint), mint, tokenAccount(wallet, mint), from].map(indexOf);
    return { programIdIndex: indexOf(TOKEN_PROGRAM), accounts, data: bs58.encode(data) };
  });
  const { slot, blockTime, err } = transaction;
  return { slot, blockTime, meta: { err }, transaction: { message: { accountKeys: keys, instructions: [...memos, ...transfers] } } };
}

/** Returns the address of another founder's draws account. */
export const otherDraws = () => drawsAddress(PROGRAM, addressOf('another founder'));
