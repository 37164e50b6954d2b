import { expect } from '@jest/globals';
import type { z } from 'zod';
import { type AcceptedEntry, acceptEntries, lockActiveRound, readEntries } from '#areas/lottery/entries.ts';
import { closeRound } from '#areas/lottery/lifecycle/freeze.ts';
import { postRound, postStart } from '#areas/lottery/routes/rounds.ts';
import type { ChatRoundView } from '#areas/lottery/schemas.ts';
import type { ChatRoundTerms } from '#areas/lottery/terms.ts';
import { Audit } from '#lib/draw/audit.ts';
import { leavesOf } from '#lib/draw/entry.ts';
import { verifyRound } from '#lib/draw/verify.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { beaconOf, verifySignature } from '#platform/solana/beacon/index.ts';
import { adminOf } from '../http/client.ts';
import type { RewardsTest } from '../solana/claims.ts';
import { createWallet } from '../wallet.ts';
import { sql } from './boards.ts';

/** Terms under which every entry matches the one drawn number, so that only the tie-break decides the winners. */
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

/** Creates a chat round. */
export async function createRound(t: RewardsTest, terms: Partial<typeof EASY> = {}): Promise<ChatRoundView> {
  return (await adminOf(t).ok(postRound, { body: { ...EASY, ...terms } })).body;
}

/** Creates and starts a chat round. */
export async function startRound(t: RewardsTest, terms: Partial<typeof EASY> = {}): Promise<ChatRoundView> {
  const { id } = await createRound(t, terms);
  return (await adminOf(t).ok(postStart, { params: { id } })).body;
}

/** Enters the active round with new wallets in one transaction. @throws when an entry is refused */
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

/** Starts a round and enters it with a number of new wallets. @returns its id */
export async function openRound(t: RewardsTest, entries: number, terms: Partial<typeof EASY> = {}): Promise<string> {
  const { id } = await startRound(t, { durationSec: 600, ...terms });
  await enter(t, entries);
  return id;
}

/** The stored fields of a round that tests check. */
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

/** Reads the stored audit of a round, with its entry hashes. */
export async function auditOf({ app }: Pick<RewardsTest, 'app'>, id: string): Promise<Audit> {
  const { audit } = await storedRound({ app }, id);
  const [level] = await sql<{ nodes: Buffer }>(app, 'select nodes from round_levels where round = $1 and level = 0', [id]);
  return Audit.parse({ ...JSON.parse(audit ?? 'null'), entryHashes: leavesOf(level ? [level.nodes] : []) });
}

/** Returns the trust anchors of a verifier. */
export const anchorsOf = async (app: App) => ({
  ...{ beacon: await beaconOf(app).chain(), verifySignature, committer: app.chain.address('committer').toBase58() },
  ...{ landed: null, minLeadSec: 3, minMarginSec: 1 },
});

/** Verifies a round from its audit and entries. @returns the audit */
export async function verified({ app }: Pick<RewardsTest, 'app'>, id: string): Promise<Audit> {
  const audit = await auditOf({ app }, id);
  const { state } = await storedRound({ app }, id);
  expect(verifyRound(audit, await readEntries(app.db, id), await anchorsOf(app))).toEqual({ ok: true, state });
  return audit;
}

/** Reads all stored commitments in order of their sequence. */
export const commitmentsOf = ({ app }: Pick<RewardsTest, 'app'>) =>
  sql<{ sequence: number; round: string; previous: string; memo: string | null; hash: string | null; signature: string | null }>(
    app,
    'select sequence::int, round::text, previous, memo, hash, signature from commitments order by sequence',
  );

/** Reads the payments of a round's prizes. */
export const prizesOf = ({ app }: Pick<RewardsTest, 'app'>, id: string) =>
  sql<{ wallet: string; currency: string; amount: string; place: number; state: string }>(
    app,
    `select wallet, currency, amount::text, split_part(cause_id, ':', 2)::int as place, state from payments
     where cause_kind = 'prize' and cause_id like $1 || ':%' order by place`,
    [id],
  );

/** Reads the types of a round's events in order, without `new_entry`. */
export async function eventsOf({ app }: Pick<RewardsTest, 'app'>, id: string): Promise<string[]> {
  const rows = await sql<{ type: string }>(app, `select type from outbox where payload->>'roundId' = $1 and type <> 'new_entry' order by id`, [id]);
  return rows.map(({ type }) => type);
}

/** Closes all active chat rounds. */
export async function endActive({ app }: Pick<RewardsTest, 'app'>): Promise<void> {
  const rows = await sql<{ id: string }>(app, `select id::text from rounds where kind = 'chat' and state = 'active'`);
  for (const { id } of rows) await app.tx((tx) => closeRound(tx, id));
}
