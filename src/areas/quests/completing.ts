import type { LedgerEntry, Mode, OpenDay } from '#areas/points';
import { linkedAmong } from '#areas/social';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { questCompleted } from './events.ts';
import { readActiveDays, streakOn } from './metrics.ts';
import { type Factors, multiplied, multiplierOf, RULE, STREAK_DAYS } from './multiplier.ts';
import type { Quest } from './rows.ts';

/** A quest that a wallet has completed in a window. */
export interface Completed {
  readonly wallet: string;
  readonly quest: Quest;
  readonly windowKey: string;
  /** The UTC day that it was completed on, by which the streak counts. */
  readonly day: number;
}

/** What a completion gave. */
export interface Award extends Completed {
  readonly points: number;
  readonly factors: Factors;
}

/** Completions that were recorded, and the points that are to be given for them. */
export interface Awarded {
  readonly awards: readonly Award[];
  readonly entries: readonly LedgerEntry[];
}

/** What a completion is known by. */
export interface CompletionKey {
  readonly wallet: string;
  readonly questId: string;
  readonly windowKey: string;
}

const keysText = ({ wallet, questId, windowKey }: CompletionKey) => `${wallet} ${windowKey} ${questId}`;

/** Completions that are there, by wallet, quest and window. */
export interface Completions {
  find(key: CompletionKey): { readonly at: number; readonly points: number } | undefined;
}

const selectCompletions = statement<CompletionKey & { at: number; points: number }>(
  'select_quest_completions',
  `select c.* from unnest($1::text[]) as w(wallet), unnest($2::text[]) as k(window_key), lateral (
     select wallet, quest_id as "questId", window_key as "windowKey", points, floor(extract(epoch from at) * 1000)::float8 as at
     from quest_completions q where q.wallet = w.wallet and q.window_key = k.window_key offset 0) c`,
);

/** Reads what wallets have completed in windows. */
export async function readCompletions(db: Queryable, wallets: readonly string[], windowKeys: readonly string[]): Promise<Completions> {
  const rows = await db.query(selectCompletions, [[...new Set(wallets)], [...new Set(windowKeys)]]);
  const found = new Map(rows.map((row) => [keysText(row), row]));
  return { find: (key) => found.get(keysText(key)) };
}

const insertCompletions = statement<CompletionKey>(
  'insert_quest_completions',
  `insert into quest_completions (wallet, window_key, quest_id, version, points, by, at)
   select c.wallet, c.window_key, c.quest_id, c.version, c.points, $6, $7
   from unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[]) as c(wallet, window_key, quest_id, version, points)
   order by 1, 2, 3 on conflict do nothing returning wallet, quest_id as "questId", window_key as "windowKey"`,
);
const selectPlayers = statement<{ wallet: string; mode: Mode; banned: boolean }>(
  'select_players_of_quests',
  'select wallet, mode, banned_at is not null as banned from players where wallet = any($1::text[])',
);

/** What is known of the wallets besides what they did. */
export interface Known {
  /** Who holds enough of the reward token; who is not in it is not known. */
  readonly holdings: ReadonlyMap<string, boolean>;
  /** Whether what is not counted yet makes a streak too: for single wallets. */
  readonly fresh?: boolean;
  /** The operator who says so. */
  readonly by?: string;
}

/**
 * Records completions, each once: the row of a completion is the claim on its points. Banned wallets get none.
 * @returns what is given, for the caller to append in this transaction; completions that were there already are left out
 */
export async function complete(tx: Tx, open: OpenDay, completed: readonly Completed[], known: Known): Promise<Awarded> {
  if (completed.length === 0) return { awards: [], entries: [] };
  const wallets = [...new Set(completed.map(({ wallet }) => wallet))];
  const days = completed.map(({ day }) => day);
  const [players, linked, active] = await Promise.all([
    tx.query(selectPlayers, [wallets]),
    linkedAmong(tx, wallets),
    readActiveDays(tx, wallets, Math.min(...days) - STREAK_DAYS, Math.max(...days), known.fresh),
  ]);
  const playerOf = new Map(players.map((player) => [player.wallet, player]));
  const awards = completed.flatMap((one): Award[] => {
    const { wallet, quest, day } = one;
    if (playerOf.get(wallet)?.banned) return [];
    const standing = { streakDays: streakOn(active.get(wallet), day), linked: linked.has(wallet), holding: known.holdings.get(wallet) ?? null };
    const basisPoints = multiplierOf(standing);
    const basePoints = quest.definition.points;
    const factors = { rule: RULE, questVersion: quest.version, basePoints, basisPoints, ...standing };
    return [{ ...one, points: multiplied(basePoints, basisPoints), factors }];
  });
  const inserted = await tx.query(insertCompletions, [
    awards.map(({ wallet }) => wallet),
    awards.map(({ windowKey }) => windowKey),
    awards.map(({ quest }) => quest.id),
    awards.map(({ quest }) => quest.version),
    awards.map(({ points }) => points),
    known.by ?? null,
    open.at.toISOString(),
  ]);
  const fresh = new Set(inserted.map(keysText));
  const given = awards.filter(({ wallet, quest, windowKey }) => fresh.has(keysText({ wallet, questId: quest.id, windowKey })));
  report(tx, given);
  const entries = given.map(
    ({ wallet, quest, windowKey, points, factors }): LedgerEntry => ({
      wallet,
      mode: playerOf.get(wallet)?.mode ?? 'regular',
      kind: 'quest',
      reason: 'quest',
      source: 'quest',
      sourceId: `${quest.id}:${windowKey}`,
      points,
      rewards: true,
      factors: { ...factors },
    }),
  );
  return { awards: given, entries };
}

/** Tells the wallets. */
function report(tx: Tx, awards: readonly Award[]): void {
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
