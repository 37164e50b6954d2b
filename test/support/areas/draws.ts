import { expect } from '@jest/globals';
import type { z } from 'zod';
import { type AcceptedEntry, acceptEntries, lockActiveRound, readEntries } from '#areas/lottery/entries.ts';
import { closeRound } from '#areas/lottery/lifecycle/freeze.ts';
import { postRound, postStart } from '#areas/lottery/routes/rounds.ts';
import type { ChatRoundTerms, ChatRoundView } from '#areas/lottery/schemas.ts';
import { Audit } from '#lib/draw/audit.ts';
import { leavesOf } from '#lib/draw/entry.ts';
import { verifyRound } from '#lib/draw/verify.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { beaconOf, verifySignature } from '#platform/solana/beacon/beacon.ts';
import { adminOf } from '../http/client.ts';
import type { RewardsTest } from '../solana/claims.ts';
import { createWallet } from '../wallet.ts';
import { sql } from './boards.ts';

/** Everybody wins with one match of 1, who is drawn first: entries differ by their ties alone. */
export const EASY: z.input<typeof ChatRoundTerms> = {
  title: 'A quick one',
  picks: 1,
  range: 1,
  prizes: [
    { amount: '3000000', mint: 'reward' },
    { amount: '2000000', mint: 'usdc' },
  ],
  durationSec: 1,
};

/** Describes a chat round. */
export async function describeRound(t: RewardsTest, terms: Partial<typeof EASY> = {}): Promise<ChatRoundView> {
  return (await adminOf(t).ok(postRound, { body: { ...EASY, ...terms } })).body;
}

/** Describes and starts a chat round. */
export async function startRound(t: RewardsTest, terms: Partial<typeof EASY> = {}): Promise<ChatRoundView> {
  const { id } = await describeRound(t, terms);
  return (await adminOf(t).ok(postStart, { params: { id } })).body;
}

/** Enters the active round as new wallets, all of them or not. */
export async function enter(t: Pick<RewardsTest, 'app'>, count: number): Promise<AcceptedEntry[]> {
  const candidates = Array.from({ length: count }, () => {
    const id = newId();
    return { id, wallet: createWallet().address, numbers: null, source: 'chat', messageId: id };
  });
  const answers = await t.app.tx(async (tx) => await acceptEntries(tx, await lockActiveRound(tx), candidates));
  return answers.map((answer) => {
    if ('entry' in answer) return answer.entry;
    throw new Error(answer.error);
  });
}

/** Starts a round and enters it with so many wallets. */
export async function openRound(t: RewardsTest, entries: number, terms: Partial<typeof EASY> = {}): Promise<string> {
  const { id } = await startRound(t, { durationSec: 600, ...terms });
  await enter(t, entries);
  return id;
}

/** A round as it is stored, as far as tests look at it. */
export interface StoredRound {
  state: string;
  root: string | null;
  audit: string | null;
  reason: string | null;
  beaconRound: number | null;
  successor: string | null;
}
export async function storedRound({ app }: Pick<RewardsTest, 'app'>, id: string): Promise<StoredRound> {
  const [row] = await sql<StoredRound>(
    app,
    `select state, encode(root, 'hex') as root, audit, void_reason as reason, beacon_round::float8 as "beaconRound",
       (select s.id::text from rounds s where s.successor_of = r.id) as successor from rounds r where id = $1`,
    [id],
  );
  if (!row) throw new Error(`there is no round ${id}`);
  return row;
}

/** The audit of a round as it is at rest, put together as it is published. */
export async function auditOf({ app }: Pick<RewardsTest, 'app'>, id: string): Promise<Audit> {
  const { audit } = await storedRound({ app }, id);
  const [level] = await sql<{ nodes: Buffer }>(app, 'select nodes from round_levels where round = $1 and level = 0', [id]);
  return Audit.parse({ ...JSON.parse(audit ?? 'null'), entryHashes: leavesOf(level ? [level.nodes] : []) });
}

/** What a verifier is told otherwise than by an audit. */
export const anchorsOf = async (app: App) => ({
  ...{ beacon: await beaconOf(app).chain(), verifySignature, committer: app.chain.address('committer').toBase58() },
  ...{ landed: null, leastLeadSec: 3, leastMarginSec: 1 },
});

/** What a stranger makes of a round: verified from its entries, in the state that it is in. */
export async function verified({ app }: Pick<RewardsTest, 'app'>, id: string): Promise<Audit> {
  const audit = await auditOf({ app }, id);
  const { state } = await storedRound({ app }, id);
  expect(verifyRound(audit, await readEntries(app.db, id), await anchorsOf(app))).toEqual({ ok: true, state });
  return audit;
}

/** The commitments on record, in their order. */
export const commitmentsOf = ({ app }: Pick<RewardsTest, 'app'>) =>
  sql<{ sequence: number; round: string; previous: string; memo: string | null; hash: string | null; signature: string | null }>(
    app,
    'select sequence::int, round::text, previous, memo, hash, signature from commitments order by sequence',
  );

/** What is owed for a round's prizes. */
export const prizesOf = ({ app }: Pick<RewardsTest, 'app'>, id: string) =>
  sql<{ wallet: string; currency: string; amount: string; place: number; state: string }>(
    app,
    `select wallet, currency, amount::text, split_part(cause_id, ':', 2)::int as place, state from payments
     where cause_kind = 'prize' and cause_id like $1 || ':%' order by place`,
    [id],
  );

/** The types of the events about a round, in their order. */
export async function eventsOf({ app }: Pick<RewardsTest, 'app'>, id: string): Promise<string[]> {
  const rows = await sql<{ type: string }>(app, `select type from outbox where payload->>'roundId' = $1 and type <> 'new_entry' order by id`, [id]);
  return rows.map(({ type }) => type);
}

/** Has nothing be active: what is, closes. */
export async function endActive({ app }: Pick<RewardsTest, 'app'>): Promise<void> {
  const rows = await sql<{ id: string }>(app, `select id::text from rounds where kind = 'chat' and state = 'active'`);
  for (const { id } of rows) await app.tx((tx) => closeRound(tx, id));
}
