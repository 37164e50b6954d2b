import { auditText } from '#areas/lottery/audits.ts';
import type { RoundState } from '#areas/lottery/rows.ts';
import type { Audit } from '#lib/draw/audit.ts';
import { timeOf } from '#lib/draw/beacon-chain.ts';
import { buildAudit, type RoundFacts, treeOf } from '#lib/draw/build.ts';
import { parseMemo } from '#lib/draw/commitment.ts';
import type { Entry } from '#lib/draw/entry.ts';
import { parametersHash, type RoundParameters } from '#lib/draw/parameters.ts';
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
  readonly voidReason?: RoundFacts['void'];
  /** Time since the round ended, seconds. */
  readonly ago?: number;
  readonly sequence?: number;
  readonly facts?: Partial<RoundFacts>;
}

const ROWS_PER_STATEMENT = 20_000;

/** Stores a round as the service would store it in a given state. Precondition: no worker serves its queue. */
export async function storeRound(
  app: App,
  parameters: RoundParameters,
  entries: readonly Entry[],
  { state = 'finalized', tree: hasTree = true, voidReason = null, ago = 60, sequence = 1, facts: over = {} }: Options = {},
): Promise<StoredRound> {
  const id = parameters.round;
  const facts = { ...factsOf(state, parameters, entries, voidReason, sequence), ...over };
  const tree = treeOf(facts);
  const audit = buildAudit(facts, tree);
  const isOpened = state !== 'pending';
  const isFrozen = isOpened && state !== 'active' && hasTree;
  const memo = facts.commitment && parseMemo(facts.commitment.memo);
  const chat = parameters.kind === 'chat' ? parameters : null;
  const legacy = parameters.kind === 'legacy' ? parameters : null;
  const values = {
    ...{ id, kind: parameters.kind, state, title: chat && 'A round', created_by: 'test', picks: chat?.picks, range: chat?.range },
    prizes: chat && JSON.stringify(chat.prizes.map(({ amount }) => ({ amount, mint: 'reward' }))),
    ...{ max_entries_per_wallet: chat?.maxEntriesPerWallet, duration_sec: chat && 3_600, ticket_price: legacy?.ticketPrice },
    ...(isOpened ? { parameters: JSON.stringify(parameters), parameters_hash: parametersHash(parameters) } : {}),
    ...(isOpened ? { opens_at: parameters.opensAt, closes_at: parameters.closesAt } : {}),
    ...{ entries: entries.length, root: isFrozen && tree ? Buffer.from(tree.at(-1) ?? []) : null, audit: isFrozen ? auditText(audit) : null },
    ...(memo
      ? { beacon_round: memo.beaconRound, beacon_due_at: new Date(timeOf(facts.beacon?.chain ?? CHAIN, memo.beaconRound)).toISOString() }
      : {}),
    void_reason: voidReason,
    closed_at: isOpened && state !== 'active' ? parameters.closesAt : null,
    ended_at: state === 'finalized' || state === 'void' ? new Date(Date.now() - 1_000 * ago).toISOString() : null,
  };
  const columns = Object.entries(values).filter(([, value]) => value != null);
  const places = columns.map((_, i) => `$${i + 1}`).join();
  await sql(
    app,
    `insert into rounds (${columns.map(([name]) => name).join()}) values (${places})`,
    columns.map(([, value]) => value),
  );
  const entryId = (index: number) => uuidOf(`entry ${index} of ${id}`);
  for (let from = 0; from < entries.length; from += ROWS_PER_STATEMENT)
    await storeEntries(app, id, entries.slice(from, from + ROWS_PER_STATEMENT), entryId);
  if (isFrozen)
    for (const [level, nodes] of (tree ?? []).entries())
      await sql(app, 'insert into round_levels values ($1, $2, $3)', [id, level, Buffer.from(nodes)]);
  if (facts.commitment && memo) await storeCommitment(app, id, facts.commitment, memo.previous, audit.commitment?.hash ?? '', memo.sequence);
  if (state === 'finalized') await storeWinners(app, id, audit);
  return { id, parameters, entries, audit, entryId };
}

function factsOf(
  state: RoundState,
  parameters: RoundParameters,
  entries: readonly Entry[],
  reason: RoundFacts['void'],
  sequence: number,
): RoundFacts {
  const open = { parameters, entries, commitment: null, beacon: null, void: reason };
  if (entries.length === 0 || (state !== 'committed' && state !== 'finalized' && reason === null) || reason === 'no-entries') return open;
  const link = sequence === 1 ? {} : { sequence, previous: 'ab'.repeat(32) };
  const drawn = finished(parameters, entries, link);
  return state === 'finalized' ? drawn : { ...drawn, beacon: { chain: CHAIN, signature: null }, void: reason };
}

async function storeEntries(app: App, round: string, entries: readonly Entry[], entryId: (index: number) => string): Promise<void> {
  const rows = entries.map((entry) => ({ ...entry, round, id: entryId(entry.index), message_id: entry.messageId }));
  await sql(
    app,
    `insert into entries (round, index, id, wallet, numbers, source, message_id, at)
     select round, index, id, wallet, array(select jsonb_array_elements_text(numbers)::smallint), source, message_id, at
     from jsonb_to_recordset($1) as e(round uuid, index int, id uuid, wallet text, numbers jsonb, source text, message_id text, at timestamptz)`,
    [JSON.stringify(rows)],
  );
}

async function storeCommitment(
  app: App,
  round: string,
  { memo, committer, signature, slot, blockhash, blockTime }: NonNullable<RoundFacts['commitment']>,
  previous: string,
  hash: string,
  sequence: number,
): Promise<void> {
  await sql(
    app,
    `insert into commitments (sequence, round, previous, memo, hash, committer, signature, slot, blockhash, block_time)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [sequence, round, previous, memo, hash, committer, signature, slot, blockhash, blockTime],
  );
}

async function storeWinners(app: App, round: string, { winners }: Audit): Promise<void> {
  for (const { place, index, wallet, matches, prize } of winners ?? []) {
    const mint = prize.mint === addressOf('usdc') ? 'usdc' : 'reward';
    await sql(app, 'insert into round_winners values ($1, $2, $3, $4, $5, $6, $7)', [round, place, index, wallet, matches, prize.amount, mint]);
  }
}
