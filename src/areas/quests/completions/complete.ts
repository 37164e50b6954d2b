import type { LedgerEntry, Mode, OpenDay } from '#areas/points';
import { findLinkedWallets } from '#areas/social';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { HoldingReading } from '#platform/solana/token-gate.ts';
import { questCompleted } from '../events.ts';
import { readStreaks } from '../metrics.ts';
import { applyMultiplier, multiplierOf, type QuestFactors, RULE } from '../multiplier.ts';
import type { Quest } from '../rows.ts';

/** A completion that is not recorded yet. */
export interface QuestCompletion {
  readonly wallet: string;
  readonly quest: Quest;
  readonly windowKey: string;
  /** UTC day number of the completion. The multiplier depends on the wallet's streak (consecutive active days) up to this day. */
  readonly day: number;
}

/** A completion with the points that it gives. */
export interface QuestAward extends QuestCompletion {
  readonly points: number;
  readonly factors: QuestFactors;
}

/** Newly recorded completions, and the ledger entries that the caller must append. */
interface RecordedCompletions {
  readonly awards: readonly QuestAward[];
  readonly entries: readonly LedgerEntry[];
}

/** The unique key of a completion, without the mode. */
interface CompletionKey {
  readonly wallet: string;
  readonly questId: string;
  readonly windowKey: string;
}

const keyText = ({ wallet, questId, windowKey }: CompletionKey) => `${wallet} ${windowKey} ${questId}`;

/** Finds recorded completions that are not void, in the present mode of the wallet, by key. `at` is the time of the completion, ms since 1970. */
interface CompletionLookup {
  find(key: CompletionKey): { readonly at: number; readonly points: number } | undefined;
}

const selectCompletions = statement<CompletionKey & { at: number; points: number }>(
  'select_quest_completions',
  `select c.* from unnest($1::text[]) as w(wallet), unnest($2::text[]) as k(window_key), lateral (
     select wallet, quest_id as "questId", window_key as "windowKey", points, floor(extract(epoch from at) * 1000)::float8 as at
     from quest_completions q where q.wallet = w.wallet and q.window_key = k.window_key and q.voided_points is null
       and q.mode = coalesce((select mode from players p where p.wallet = w.wallet), 'regular') offset 0) c`,
);

/** Reads the completions of several wallets in several windows, each in the present mode of the wallet, with one query. */
export async function readCompletions(db: Queryable, wallets: readonly string[], windowKeys: readonly string[]): Promise<CompletionLookup> {
  const rows = await db.query(selectCompletions, [[...new Set(wallets)], [...new Set(windowKeys)]]);
  const found = new Map(rows.map((row) => [keyText(row), row]));
  return { find: (key) => found.get(keyText(key)) };
}

// A void completion gives its points again. Its `voids` is above 0. After a completion by an operator, a void of scores does not take the points back.
const insertCompletions = statement<CompletionKey & { voids: number; points: number }>(
  'insert_quest_completions',
  `insert into quest_completions as q (wallet, window_key, quest_id, version, points, mode, by, at)
   select c.wallet, c.window_key, c.quest_id, c.version, c.points, c.mode, $7, $8
   from unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[], $6::text[]) as c(wallet, window_key, quest_id, version, points, mode)
   order by 1, 2, 3 on conflict (wallet, window_key, quest_id, mode) do update set points = q.voided_points, voided_points = null, by = excluded.by
     where q.voided_points is not null
   returning wallet, quest_id as "questId", window_key as "windowKey", voids, points`,
);
const selectPlayers = statement<{ wallet: string; mode: Mode; banned: boolean }>(
  'select_players_of_quests',
  'select wallet, mode, banned_at is not null as banned from players where wallet = any($1::text[])',
);

/** Inputs of a completion other than the wallet's activities. */
export interface CompletionContext {
  /** Whether each wallet holds enough of the reward token. For a wallet that is not in the map, this is unknown. */
  readonly holdings: ReadonlyMap<string, HoldingReading>;
  /**
   * Whether the wallet's streak (consecutive active days) includes activities that the quest consumer has not counted yet. Reading these activities
   * is slow, so use this option for single wallets only.
   */
  readonly includeUncounted?: boolean;
  /** Name of the admin token with which an operator completes the quest; undefined for other completions. */
  readonly by?: string;
}

/**
 * Records completions in `quest_completions`. Skips banned wallets and completions that are recorded already, so that each completion gives points
 * once.
 * @returns the new completions; the caller must append `entries` to the ledger in the same transaction
 */
export async function recordCompletions(
  tx: Tx,
  open: OpenDay,
  completed: readonly QuestCompletion[],
  context: CompletionContext,
): Promise<RecordedCompletions> {
  if (completed.length === 0) return { awards: [], entries: [] };
  const wallets = [...new Set(completed.map(({ wallet }) => wallet))];
  const [players, linked, streaks] = await Promise.all([
    tx.query(selectPlayers, [wallets]),
    findLinkedWallets(tx, wallets),
    readStreaks(tx, completed, context.includeUncounted),
  ]);
  const playerOf = new Map(players.map((player) => [player.wallet, player]));
  const modeOf = (wallet: string): Mode => playerOf.get(wallet)?.mode ?? 'regular';
  const awards = completed.flatMap((one, i): QuestAward[] => {
    const { wallet, quest } = one;
    if (playerOf.get(wallet)?.banned) return [];
    const inputs = { streakDays: streaks[i] ?? 0, linked: linked.has(wallet), ...presentHolding(context.holdings.get(wallet)) };
    const basisPoints = multiplierOf(inputs);
    const basePoints = quest.definition.points;
    const factors = { rule: RULE, questVersion: quest.version, basePoints, basisPoints, ...inputs };
    return [{ ...one, points: applyMultiplier(basePoints, basisPoints), factors }];
  });
  const inserted = await tx.query(insertCompletions, [
    awards.map(({ wallet }) => wallet),
    awards.map(({ windowKey }) => windowKey),
    awards.map(({ quest }) => quest.id),
    awards.map(({ quest }) => quest.version),
    awards.map(({ points }) => points),
    awards.map(({ wallet }) => modeOf(wallet)),
    context.by ?? null,
    open.at.toISOString(),
  ]);
  const insertedRows = new Map(inserted.map((row) => [keyText(row), row]));
  const recorded = awards.flatMap((award) => {
    const row = insertedRows.get(keyText({ wallet: award.wallet, questId: award.quest.id, windowKey: award.windowKey }));
    return row ? [{ ...award, points: row.points, voids: row.voids }] : [];
  });
  emitCompleted(tx, recorded);
  const entries = recorded.map(({ wallet, quest, windowKey, points, voids, factors }): LedgerEntry => {
    const shared = { wallet, mode: modeOf(wallet), kind: 'quest', source: 'quest', points, rewards: true } as const;
    if (voids > 0) return { ...shared, reason: 'restore', sourceId: `${quest.id}:${windowKey}:${voids}` };
    const by = context.by === undefined ? {} : { by: context.by };
    return { ...shared, reason: 'quest', sourceId: `${quest.id}:${windowKey}`, factors: { ...factors, ...by } };
  });
  return { awards: recorded, entries };
}

/** Converts the reading of a balance into inputs of the multiplier. @param reading undefined when the balance is unknown */
export const presentHolding = (reading: HoldingReading | null | undefined): { holding: boolean | null; holdingAt: string | null } => ({
  holding: reading?.holding ?? null,
  holdingAt: reading ? new Date(reading.at).toISOString() : null,
});

/** Emits `quest_completed` to the wallet of each completion. */
function emitCompleted(tx: Tx, awards: readonly QuestAward[]): void {
  tx.emitAll(
    questCompleted,
    awards.map(({ quest, windowKey, points }) => ({
      questId: quest.id,
      title: quest.definition.title,
      window: windowKey,
      points,
      task: quest.definition.task,
    })),
    awards.map(({ wallet }) => wallet),
  );
}
