import { acceptedDay } from '#areas/arcade';
import {
  type ActivityEvent,
  isVoiding,
  type LedgerEntry,
  type Mode,
  type OpenDay,
  type Operation,
  revokeEntries,
  type StoredEntry,
} from '#areas/points';
import { fail } from '#lib/errors.ts';
import { dayNumber } from '#lib/periods.ts';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { QuestDefinition } from '../definition.ts';
import { QuestCompletionsTable } from '../entities.ts';
import { readFacts } from '../facts.ts';
import { isMet } from '../progress.ts';
import { type Quest, questWindow } from '../rows.ts';

/** A completion that scores of the wallet may have caused. */
interface CompletionToReview {
  readonly wallet: string;
  readonly questId: string;
  readonly windowKey: string;
  readonly mode: Mode;
  readonly points: number;
  /** Points that the completion gives again; null unless the completion is void. */
  readonly voidedPoints: number | null;
  readonly voids: number;
  /** Time of the completion, ms since 1970. */
  readonly at: number;
  /** The quest in the version that the wallet completed. */
  readonly definition: QuestDefinition;
  readonly version: number;
  readonly createdAt: number;
}

// Leaves out completions by operators, and completions that an operator revoked. A completion that was void before may depend on scores that are newer
// than the completion.
const lockCompletions = statement<CompletionToReview>(
  'lock_quest_completions',
  `select c.wallet, c.quest_id as "questId", c.window_key as "windowKey", c.mode, c.points, c.voided_points as "voidedPoints", c.voids, c.version,
     floor(extract(epoch from c.at) * 1000)::float8 as at, v.definition, floor(extract(epoch from q.created_at) * 1000)::float8 as "createdAt"
   from unnest($1::text[], $2::int[]) as k(wallet, day)
   join quest_completions c on c.wallet = k.wallet and (c.at >= to_timestamp(k.day * 86400.0) or c.voids > 0)
   join quest_versions v on v.quest_id = c.quest_id and v.version = c.version
   join quests q on q.id = c.quest_id
   where c.by is null and (c.points > 0 or c.voided_points is not null)
   order by c.wallet, c.window_key, c.quest_id, c.mode for no key update of c`,
);
const saveVoids = statement(
  'save_void_quest_completions',
  `update quest_completions c set points = s.points, voided_points = s.voided_points, voids = s.voids
   from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::int[], $7::int[])
     as s(wallet, quest_id, window_key, mode, points, voided_points, voids)
   where c.wallet = s.wallet and c.quest_id = s.quest_id and c.window_key = s.window_key and c.mode = s.mode`,
);

/** Days before its record on which a completion may have been met, because a completion may wait for the token balance of the wallet. */
const MAX_DELAY_DAYS = 7;

/** Returns the days on which the requirement of a completion is evaluated: the day of the completion, and the last past day of its window. */
function daysOf(quest: Quest, { at, windowKey }: CompletionToReview, open: OpenDay): number[] {
  const recorded = dayNumber(new Date(at));
  for (let day = recorded; day >= recorded - MAX_DELAY_DAYS; day--) {
    const window = questWindow(quest, day);
    if (window.key === windowKey) return [day, Math.min(window.last, open.day)];
  }
  return [];
}

/**
 * Voids the completions whose requirement is no longer met because scores were voided, and restores void completions whose requirement is met again
 * because scores were restored. A follow counts as done, because a void does not change it. Precondition: the activities are counted.
 * @param activities activities of any kinds
 * @returns the ledger entries of the changed completions
 */
export async function reviewCompletions(
  tx: Tx,
  open: OpenDay,
  activities: readonly ActivityEvent[],
  unrewarded: ReadonlySet<string>,
): Promise<LedgerEntry[]> {
  const scores = activities.filter(({ kind }) => isVoiding(kind));
  if (scores.length === 0) return [];
  const firstDays = await readFirstDays(tx, scores);
  const completions = await tx.query(lockCompletions, [[...firstDays.keys()], [...firstDays.values()]]);
  const queries = completions.flatMap((completion) => {
    const { questId: id, definition, version, createdAt } = completion;
    const quest: Quest = { id, definition, version, createdAt, updatedAt: createdAt, burnEndsAt: null };
    return daysOf(quest, completion, open).map((day) => ({ completion, wallet: completion.wallet, quest, day }));
  });
  const facts = await readFacts(tx, queries, unrewarded);
  const met = new Set(
    queries.flatMap(({ completion, quest }, i) => {
      const known = facts[i];
      return known && isMet(quest.definition.requirement, { ...known, following: true }) ? [completion] : [];
    }),
  );
  const reviewed = new Set(queries.map(({ completion }) => completion));
  const changed = completions.filter((one) => reviewed.has(one) && met.has(one) === (one.voidedPoints !== null));
  await saveChanged(tx, changed);
  return changed.map(entryOf);
}

const readScoreDays = statement<{ wallet: string; day: number }>(
  'select_days_of_voided_scores',
  `select s.wallet, min(s.day) as day from unnest($1::text[]) as k(id), lateral (
     select s.wallet, ${acceptedDay('s')} as day from scores s where s.id = k.id::uuid offset 0) s group by 1`,
);

/** Returns the first day of the scores of each wallet, by wallet. No earlier completion depends on these scores. */
async function readFirstDays(tx: Tx, scores: readonly ActivityEvent[]): Promise<Map<string, number>> {
  const rows = await tx.query(readScoreDays, [scores.map(({ sourceId }) => sourceId)]);
  return new Map(rows.map(({ wallet, day }) => [wallet, day]));
}

async function saveChanged(tx: Tx, changed: readonly CompletionToReview[]): Promise<void> {
  if (changed.length === 0) return;
  await tx.query(saveVoids, [
    changed.map(({ wallet }) => wallet),
    changed.map(({ questId }) => questId),
    changed.map(({ windowKey }) => windowKey),
    changed.map(({ mode }) => mode),
    changed.map(({ voidedPoints }) => voidedPoints ?? 0),
    changed.map(({ points, voidedPoints }) => (voidedPoints === null ? points : null)),
    changed.map(({ voids, voidedPoints }) => (voidedPoints === null ? voids + 1 : voids)),
  ]);
}

const entryOf = ({ wallet, mode, questId, windowKey, points, voidedPoints, voids }: CompletionToReview): LedgerEntry => {
  const shared = { wallet, mode, source: 'quest', kind: 'quest', rewards: true } as const;
  return voidedPoints === null
    ? { ...shared, reason: 'void', sourceId: `${questId}:${windowKey}:${voids + 1}`, points: -points }
    : { ...shared, reason: 'restore', sourceId: `${questId}:${windowKey}:${voids}`, points: voidedPoints };
};

const build = queryBuilder([QuestCompletionsTable]);

/**
 * Takes the points of a completion back. The completion stays, with 0 points, so the wallet cannot complete the quest in this window again.
 * @param entry the ledger entry of the completion
 * @throws 409 when the completion is revoked already, or is void
 */
export async function revokeCompletion(tx: Tx, open: OpenDay, entry: StoredEntry, operation: Operation): Promise<void> {
  const [questId = '', windowKey = ''] = entry.sourceId.split(':');
  const ofCompletion = { wallet: entry.wallet, mode: entry.mode, window_key: windowKey, quest_id: questId } as const;
  const lock = build
    .selectFrom('quest_completions')
    .select('voided_points')
    .where(({ and }) => and(ofCompletion));
  const [completion] = await run(tx, lock.forNoKeyUpdate());
  if (completion && completion.voided_points !== null)
    throw fail(409, 'the completion must not be void: the voids of scores have taken its points back');
  await revokeEntries(tx, open, [entry], operation);
  await run(
    tx,
    build
      .updateTable('quest_completions')
      .set({ points: 0 })
      .where(({ and }) => and(ofCompletion)),
  );
}
