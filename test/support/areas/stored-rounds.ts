import { announce, stateClosed } from '#areas/lottery/receipts.ts';
import type { RoundState } from '#areas/lottery/rows.ts';
import type { Audit } from '#lib/draw/audit.ts';
import { timeOf } from '#lib/draw/beacon-chain.ts';
import { buildAudit, type RoundFacts } from '#lib/draw/build.ts';
import { fromHex } from '#lib/draw/bytes.ts';
import { type Entry, entryLeaves, entryTree } from '#lib/draw/entry.ts';
import { parametersHash, type RoundParameters } from '#lib/draw/parameters.ts';
import { runningHashes } from '#lib/draw/round-leaf.ts';
import type { App } from '#platform/app.ts';
import { addressOf, CHAIN, finished, uuidOf } from '#test/lib/draw/rounds.ts';
import { sql } from './boards.ts';

/** A stored round and the values that it was built from. */
export interface StoredRound {
  readonly id: string;
  readonly parameters: RoundParameters;
  readonly entries: readonly Entry[];
  /** The audit that the route returns. */
  readonly audit: Audit;
  /** Returns the id of an entry. */
  entryId(index: number): string;
}

interface Options {
  readonly state?: RoundState;
  /** For state `closing`: whether the tree is stored already. */
  readonly tree?: boolean;
  /** Time since the round ended, seconds. */
  readonly ago?: number;
  /** The beacon of a drawn round; by default the beacon of the tests. */
  readonly beacon?: Parameters<typeof finished>[2];
}

const ROWS_PER_STATEMENT = 20_000;

/** Stores a round as the service would store it in a given state. Precondition: no worker serves its queue. */
export async function storeRound(
  app: App,
  parameters: RoundParameters,
  entries: readonly Entry[],
  { state = 'finalized', tree: hasTree = true, ago = 60, beacon }: Options = {},
): Promise<StoredRound> {
  const id = parameters.round;
  const facts = factsOf(app, state, parameters, entries, beacon);
  const leaves = entryLeaves(id, entries);
  const running = runningHashes(fromHex(parametersHash(parameters)), leaves);
  const audit = buildAudit(facts, entries);
  const isOpened = state !== 'pending';
  const isClosed = isOpened && state !== 'active';
  const isFrozen = isClosed && hasTree;
  const tree = isFrozen && entries.length > 0 ? entryTree(leaves) : [];
  const { commitment } = facts;
  const chat = parameters.kind === 'chat' ? parameters : null;
  const legacy = parameters.kind === 'legacy' ? parameters : null;
  const values = {
    ...{ id, kind: parameters.kind, state, title: chat && 'A round', created_by: 'test', picks: chat?.picks, range: chat?.range },
    prizes: chat && JSON.stringify(chat.prizes.map(({ amount }) => ({ amount, mint: 'reward' }))),
    ...{ max_entries_per_wallet: chat?.maxEntriesPerWallet, duration_sec: chat && 3_600, ticket_price: legacy?.ticketPrice },
    ...(isOpened ? { parameters: JSON.stringify(parameters), parameters_hash: parametersHash(parameters) } : {}),
    ...(isOpened ? { announcement: JSON.stringify(facts.announcement), running_hash: fromHex(facts.entries.runningHash) } : {}),
    ...(isOpened ? { opens_at: parameters.opensAt, closes_at: parameters.closesAt } : {}),
    ...{ entries: entries.length, root: tree.at(-1), audit: isFrozen ? JSON.stringify(audit) : null },
    ...(commitment
      ? { beacon_round: commitment.beaconRound, beacon_due_at: new Date(timeOf(facts.beacon?.chain ?? CHAIN, commitment.beaconRound)).toISOString() }
      : {}),
    void_reason: facts.void,
    ...(isClosed ? { closed_at: parameters.closesAt, closed: JSON.stringify(facts.closed) } : {}),
    ended_at: state === 'finalized' || state === 'void' ? new Date(Date.now() - 1_000 * ago).toISOString() : null,
  };
  const columns = Object.entries(values).filter(([, value]) => value != null);
  const places = columns.map((_, i) => `$${i + 1}`).join();
  await sql(
    app,
    `insert into rounds (${columns.map(([name]) => name).join()}) values (${places})`,
    columns.map(([, value]) => (value instanceof Uint8Array ? Buffer.from(value) : value)),
  );
  const entryId = (index: number) => uuidOf(`entry ${index} of ${id}`);
  for (let from = 0; from < entries.length; from += ROWS_PER_STATEMENT)
    await storeEntries(app, id, entries.slice(from, from + ROWS_PER_STATEMENT), entryId, running);
  for (const [level, nodes] of tree.entries()) await sql(app, 'insert into round_levels values ($1, $2, $3)', [id, level, Buffer.from(nodes)]);
  if (commitment) await storeCommitment(app, id, commitment);
  if (state === 'finalized') await storeWinners(app, id, audit);
  return { id, parameters, entries, audit, entryId };
}

/** Returns the facts of a round in a state, with statements that the service has signed. */
function factsOf(app: App, state: RoundState, parameters: RoundParameters, entries: readonly Entry[], beacon: Options['beacon']): RoundFacts {
  const drawn = finished(parameters, entries, beacon);
  const { draws, round, opensAt, closesAt } = parameters;
  const stated = { draws, round, parametersHash: parametersHash(parameters) };
  const { count, runningHash } = drawn.entries;
  const signed = {
    announcement: announce(app, stated, opensAt),
    closed: stateClosed(app, stated, { closedAt: closesAt, count, runningHash }),
  };
  if (state === 'finalized') return { ...drawn, ...signed };
  if (state === 'committed') return { ...drawn, ...signed, beacon: { chain: drawn.beacon?.chain ?? CHAIN, signature: null } };
  return { ...drawn, ...signed, commitment: null, beacon: null, void: state === 'void' ? 'no-entries' : null };
}

async function storeEntries(
  app: App,
  round: string,
  entries: readonly Entry[],
  entryId: (index: number) => string,
  running: Uint8Array,
): Promise<void> {
  const hashOf = (index: number) => Buffer.from(running.subarray(32 * index, 32 * index + 32)).toString('hex');
  const rows = entries.map((entry) => ({ ...entry, round, id: entryId(entry.index), message_id: entry.messageId, hash: hashOf(entry.index) }));
  await sql(
    app,
    `insert into entries (round, index, id, wallet, numbers, source, message_id, at, running_hash)
     select round, index, id, wallet, array(select jsonb_array_elements_text(numbers)::smallint), source, message_id, at, decode(hash, 'hex')
     from jsonb_to_recordset($1) as e(round uuid, index int, id uuid, wallet text, numbers jsonb, source text, message_id text, at timestamptz, hash text)`,
    [JSON.stringify(rows)],
  );
}

async function storeCommitment(
  app: App,
  round: string,
  { account, leaf, beaconRound, slot, at, blockhash }: NonNullable<RoundFacts['commitment']>,
): Promise<void> {
  await sql(
    app,
    `insert into commitments (round, account, leaf, beacon_round, slot, at, blockhash, signature) values ($1, $2, decode($3, 'hex'), $4, $5, $6, $7, $8)`,
    [round, account, leaf, beaconRound, slot, at, blockhash, addressOf(`transaction of ${round}`)],
  );
}

async function storeWinners(app: App, round: string, { winners }: Audit): Promise<void> {
  for (const { place, index, wallet, matches, prize } of winners ?? []) {
    const mint = prize.mint === addressOf('usdc') ? 'usdc' : 'reward';
    await sql(app, 'insert into round_winners values ($1, $2, $3, $4, $5, $6, $7)', [round, place, index, wallet, matches, prize.amount, mint]);
  }
}
