import { createHash } from 'node:crypto';
import { requestQuestChecks } from '#areas/points';
import { dayNumber } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { readCompletions } from './completions/complete.ts';
import { conditionsOf } from './definition.ts';
import { readFacts, unrewardedGames } from './facts.ts';
import { isMet, maxStreakDays, measuredKinds, needsFollow } from './progress.ts';
import { isOpen, type Quest, questWindow, readQuests } from './rows.ts';

/** Wallets per transaction of a sweep, and transactions per run. */
const PAGE_SIZE = 1_000;
const MAX_PAGES = 20;

/** The state of the evaluation of a quest for all wallets. */
interface Sweep {
  readonly questId: string;
  readonly basis: string;
  readonly day: number;
  readonly afterWallet: string;
  readonly finished: boolean;
}
const COLUMNS = `quest_id as "questId", basis, day, after_wallet as "afterWallet", finished_at is not null as finished`;
const selectSweeps = statement<Sweep>('select_quest_sweeps', `select ${COLUMNS} from quest_sweeps`);
const lockSweep = statement<Sweep>(
  'lock_quest_sweep',
  `select ${COLUMNS} from quest_sweeps where quest_id = $1 and basis = $2 and finished_at is null for update skip locked`,
);
const moveSweep = statement(
  'move_quest_sweep',
  'update quest_sweeps set after_wallet = $2, finished_at = case when $3 then app_now() end where quest_id = $1',
);
// Waits for the consumer of activities. It may have read the quests before they changed, and its counts are committed when this lock is granted.
// Every later batch is compared with the changed quests.
const waitForConsumer = statement('wait_for_activity_consumer', `select pg_advisory_xact_lock(hashtext('coinop-activities'))`);
const startSweeps = statement(
  'start_quest_sweeps',
  `insert into quest_sweeps as s (quest_id, basis, day) select * from unnest($1::text[], $2::text[], $3::int[]) as k(quest_id, basis, day) order by 1
   on conflict (quest_id) do update set basis = excluded.basis, day = excluded.day, after_wallet = '', started_at = app_now(), finished_at = null
   where s.basis <> excluded.basis`,
);
// Jumps from wallet to wallet in the primary key, so that the number of rows per wallet does not matter. Selects the wallets that have activities of
// the needed kinds ($3, since week $4; $5, at any time); the others cannot meet the requirement.
const selectPage = statement<{ wallet: string; possible: boolean }>(
  'select_wallets_to_sweep',
  `with recursive page as (
     (select wallet::text, 1 as n from wallet_weeks where wallet > $1 order by wallet_weeks.wallet limit 1)
     union all
     select next.wallet, p.n + 1 from page p, lateral (
       select w.wallet::text from wallet_weeks w where w.wallet > p.wallet order by w.wallet limit 1) next
     where p.n < $2)
   select p.wallet, exists (
     select from wallet_weeks m where m.wallet = p.wallet and (m.kind = any($3::text[]) and m.week >= $4 or m.kind = any($5::text[]))) as possible
   from page p order by p.n`,
);

/** Kinds of activities that extend a streak. A bind is an action of the referred wallet. */
const STREAK_KINDS = ['play', 'score', 'clip', 'burn', 'link', 'follow', 'repost', 'mention'];

/** Returns whether a wallet can meet a requirement without any activity in the window: a follow or a streak lasts from one window into the next. */
const isCarriedOver = ({ definition: { requirement } }: Quest): boolean => needsFollow(requirement) || maxStreakDays(requirement) > 0;

/**
 * Returns a text that changes whenever a quest must be evaluated for all wallets again, apart from activities: with its version, with each window if
 * its requirement may be met at the beginning of the window, and with the games that count.
 */
function basisOf(quest: Quest, day: number, unrewarded: ReadonlySet<string>): string {
  const { version, definition } = quest;
  const window = isCarriedOver(quest) ? questWindow(quest, day).key : '';
  const countsAnyGame = conditionsOf(definition.requirement).some(
    (one) => (one.type === 'plays' || one.type === 'scores' || one.type === 'bestScore') && one.gameId === undefined,
  );
  const games = countsAnyGame
    ? createHash('sha256')
        .update([...unrewarded].sort().join())
        .digest('hex')
        .slice(0, 16)
    : '';
  return [version, window, games].join(' ');
}

/**
 * Evaluates quests for all wallets, because their requirement may be met without a new activity: after their creation, a change, their start, at the
 * beginning of a window, and when other games count. Wallets that meet the requirement get a row in `quest_checks`. Each run evaluates at most
 * 20,000 wallets; the next run continues. Idempotent; several processes may call it concurrently.
 */
export async function sweepQuests(app: App): Promise<void> {
  const unrewarded = await unrewardedGames(app);
  const now = app.clock.now();
  const day = dayNumber(now);
  const quests = (await readQuests(app.db)).filter(
    (quest) =>
      !quest.definition.task && isOpen(quest, now.getTime()) && (isCarriedOver(quest) || measuredKinds(quest.definition.requirement).length > 0),
  );
  const due = quests.map((quest) => ({ quest, basis: basisOf(quest, day, unrewarded) }));
  const known = new Map((await app.db.query(selectSweeps)).map((sweep) => [sweep.questId, sweep]));
  const changed = due.filter(({ quest, basis }) => known.get(quest.id)?.basis !== basis);
  if (changed.length > 0) {
    await app.tx(async (tx) => {
      await tx.query(waitForConsumer);
      const keys = [changed.map(({ quest }) => quest.id), changed.map(({ basis }) => basis), changed.map(() => day)];
      await tx.query(startSweeps, keys);
    });
  }
  let pages = 0;
  for (const { quest, basis } of due) {
    const sweep = known.get(quest.id);
    if (sweep?.basis === basis && sweep.finished) continue;
    for (; pages < MAX_PAGES; pages++) if (!(await app.tx((tx) => sweepPage(app, tx, quest, basis, unrewarded)))) break;
  }
}

/** Evaluates a quest for the next page of wallets. @returns whether wallets remain */
async function sweepPage(app: App, tx: Tx, quest: Quest, basis: string, unrewarded: ReadonlySet<string>): Promise<boolean> {
  const [sweep] = await tx.query(lockSweep, [quest.id, basis]);
  if (!sweep) return false;
  const page = await readPage(tx, quest, sweep);
  const last = page.at(-1)?.wallet;
  const isLast = page.length < PAGE_SIZE;
  const possible = page.flatMap(({ wallet, possible }) => (possible ? [wallet] : []));
  const at = app.clock.now().getTime();
  const met = await selectMet(tx, quest, sweep.day, possible, unrewarded);
  await requestQuestChecks(
    tx,
    met.map((wallet) => ({ wallet, questId: quest.id, day: sweep.day, at })),
  );
  await tx.query(moveSweep, [quest.id, last ?? sweep.afterWallet, isLast]);
  return !isLast;
}

async function readPage(db: Queryable, quest: Quest, { day, afterWallet }: Sweep): Promise<{ wallet: string; possible: boolean }[]> {
  const { requirement } = quest.definition;
  const kinds = [...measuredKinds(requirement), ...(maxStreakDays(requirement) > 0 ? STREAK_KINDS : [])];
  // A streak may end yesterday. A row of `wallet_weeks` is the week that begins up to six days before.
  const firstWeek = Math.min(questWindow(quest, day).first, day - 1) - 6;
  return await db.query(selectPage, [afterWallet, PAGE_SIZE, kinds, firstWeek, needsFollow(requirement) ? ['follow'] : []]);
}

/** Selects the wallets that meet the requirement of a quest on a day and have not completed the quest in the window. */
async function selectMet(tx: Tx, quest: Quest, day: number, wallets: readonly string[], unrewarded: ReadonlySet<string>): Promise<string[]> {
  if (wallets.length === 0) return [];
  const windowKey = questWindow(quest, day).key;
  const completions = await readCompletions(tx, wallets, [windowKey]);
  const uncompleted = wallets.filter((wallet) => !completions.find({ wallet, questId: quest.id, windowKey }));
  const facts = await readFacts(
    tx,
    uncompleted.map((wallet) => ({ wallet, quest, day })),
    unrewarded,
  );
  return uncompleted.filter((_, i) => {
    const known = facts[i];
    return known !== undefined && isMet(quest.definition.requirement, known);
  });
}
