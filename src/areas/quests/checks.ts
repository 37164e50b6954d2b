import { appendPoints, type OpenDay, openDay, scheduleRefresh } from '#areas/points';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type HoldingReading, readRecentHolding } from '#platform/solana/token-gate.ts';
import { type QuestCompletion, readCompletions, recordCompletions } from './completions/complete.ts';
import { readFacts, unrewardedGames } from './facts.ts';
import { type GateBalances, gateRefusals, readGateBalances } from './gates.ts';
import { isMet } from './progress.ts';
import { isOpen, type Quest, questWindow, readQuests } from './rows.ts';

/** Maximum rows of `quest_checks` per transaction, and maximum transactions per run. */
const BATCH_SIZE = 50;
const MAX_BATCHES = 100;
/** Time for which a completion waits until the RPC node answers. Afterwards the wallet gets the points without the bonus for holding. */
const MAX_WAIT = `interval '1 hour'`;
/** Delay before the balance of a wallet is requested again. */
const RETRY_AFTER = `interval '10 seconds'`;

interface Check {
  readonly wallet: string;
  readonly questId: string;
  readonly day: number;
}
/** A check that this transaction has locked. Times are ms since 1970. */
interface LockedCheck extends Check {
  readonly firstAt: number;
  readonly lastAt: number;
  /** Whether the check waited so long that the points are given without a known balance. */
  readonly waitedLong: boolean;
}

const KEY = 'wallet, quest_id as "questId", day';
/** SQL: the checks that `completeQuests` takes. */
export const DUE_QUEST_CHECKS = `select ${KEY} from quest_checks where try_at <= (select app_now())`;
const selectDue = statement<Check>('select_due_quest_checks', `${DUE_QUEST_CHECKS} order by try_at limit ${BATCH_SIZE}`);
const KEYS = 'unnest($1::text[], $2::text[], $3::int[]) as k(wallet, quest_id, day)';
const lockChecks = statement<LockedCheck>(
  'lock_quest_checks',
  `select ${KEY}, floor(extract(epoch from first_at) * 1000)::float8 as "firstAt", ceil(extract(epoch from last_at) * 1000)::float8 as "lastAt",
     asked_at < (select app_now()) - ${MAX_WAIT} as "waitedLong"
   from quest_checks where (wallet, quest_id, day) in (select wallet, quest_id, day from ${KEYS})
   order by 1, 2, 3 for update skip locked`,
);
const deleteChecks = statement(
  'delete_quest_checks',
  `delete from quest_checks c using ${KEYS} where c.wallet = k.wallet and c.quest_id = k.quest_id and c.day = k.day`,
);
const postponeChecks = statement(
  'postpone_quest_checks',
  `update quest_checks c set try_at = app_now() + ${RETRY_AFTER}
   from ${KEYS} where c.wallet = k.wallet and c.quest_id = k.quest_id and c.day = k.day`,
);

const keysOf = (checks: readonly Check[]) => [checks.map(({ wallet }) => wallet), checks.map(({ questId }) => questId), checks.map(({ day }) => day)];

/**
 * Completes the quests that the rows of `quest_checks` name, if their requirements and gates are met. First reads the token balances of the wallets
 * from the chain, outside the transaction. While the RPC node does not answer, a completion waits for at most an hour, or without a limit if a gate
 * needs the balance; it counts for the day on which the requirement was met. Idempotent; several processes may call it concurrently.
 */
export async function completeQuests(app: App): Promise<void> {
  for (let i = 0; i < MAX_BATCHES; i++) {
    const due = await app.db.query(selectDue);
    if (due.length === 0) return;
    const unrewarded = await unrewardedGames(app);
    const wallets = [...new Set(due.map(({ wallet }) => wallet))];
    const holdings = await readHoldings(app, wallets);
    const named = new Set(due.map(({ questId }) => questId));
    const quests = (await readQuests(app.db)).filter(({ id }) => named.has('') || named.has(id));
    const balances = await readGateBalances(app, quests, wallets);
    await app.tx((tx) => evaluate(app, tx, due, { holdings, balances, unrewarded }));
    // If no balance was read, the RPC node is probably down. The next run tries again.
    if (due.length < BATCH_SIZE || (app.config.chain.rewardMint !== null && holdings.size === 0)) return;
  }
}

/** Reads the token balances of wallets. Wallets whose balance is not known are left out. */
async function readHoldings(app: App, wallets: readonly string[]): Promise<Map<string, HoldingReading>> {
  const readings = await Promise.all(wallets.map(async (wallet) => [wallet, await readRecentHolding(app, wallet)] as const));
  return new Map(readings.flatMap(([wallet, reading]) => (reading ? [[wallet, reading] as const] : [])));
}

/** The inputs of `evaluate` that are read before its transaction. */
interface Inputs {
  readonly holdings: ReadonlyMap<string, HoldingReading>;
  readonly balances: GateBalances;
  readonly unrewarded: ReadonlySet<string>;
}

async function evaluate(app: App, tx: Tx, due: readonly Check[], { holdings, balances, unrewarded }: Inputs): Promise<void> {
  const open = await openDay(tx);
  const [quests, checks] = await Promise.all([readQuests(tx), tx.query(lockChecks, keysOf(due))]);
  const isReady = ({ wallet, waitedLong }: LockedCheck) => app.config.chain.rewardMint === null || holdings.has(wallet) || waitedLong;
  const met = await selectMet(tx, quests, checks, unrewarded);
  const refusals = await gateRefusals(app, tx, met, balances);
  // A gate whose balance is not known waits without a limit, because the quest must not be completed without it.
  const passed = met.filter((_, i) => refusals[i] === null);
  const ready = passed.filter(({ check }) => isReady(check));
  const unknown = met.filter(({ check }, i) => refusals[i]?.status === 503 || (refusals[i] === null && !isReady(check)));
  const waiting = new Set(unknown.map(({ check }) => check));
  await complete(tx, open, ready, holdings);
  await Promise.all([
    tx.query(deleteChecks, keysOf(checks.filter((check) => !waiting.has(check)))),
    waiting.size > 0 && tx.query(postponeChecks, keysOf([...waiting])),
  ]);
}

interface MetQuest extends QuestCompletion {
  readonly check: LockedCheck;
}

/** Selects the quests that the checks name, that are not completed, and whose requirement is met. */
async function selectMet(tx: Tx, quests: readonly Quest[], checks: readonly LockedCheck[], unrewarded: ReadonlySet<string>): Promise<MetQuest[]> {
  const possible = checks.flatMap((check) =>
    quests.flatMap((quest): MetQuest[] => {
      const { wallet, questId, day, firstAt, lastAt } = check;
      // A check of all quests leaves out daily tasks, because the wallet completes them with a request. The request may add a check of its own.
      if (questId === '' ? quest.definition.task : questId !== quest.id) return [];
      const { key: windowKey, first } = questWindow(quest, day);
      return day >= first && isOpen(quest, firstAt, lastAt) ? [{ wallet, quest, windowKey, day, check }] : [];
    }),
  );
  if (possible.length === 0) return [];
  const completions = await readCompletions(
    tx,
    possible.map(({ wallet }) => wallet),
    possible.map(({ windowKey }) => windowKey),
  );
  const uncompleted = possible.filter(({ wallet, quest, windowKey }) => !completions.find({ wallet, questId: quest.id, windowKey }));
  if (uncompleted.length === 0) return [];
  const facts = await readFacts(tx, uncompleted, unrewarded, true);
  return uncompleted.filter(({ quest }, i) => {
    const known = facts[i];
    return known !== undefined && isMet(quest.definition.requirement, known);
  });
}

async function complete(tx: Tx, open: OpenDay, met: readonly MetQuest[], holdings: ReadonlyMap<string, HoldingReading>): Promise<void> {
  // Two checks of a wallet may name the same quest.
  const unique = new Map(met.map((one) => [`${one.wallet} ${one.windowKey} ${one.quest.id}`, one]));
  const { entries } = await recordCompletions(tx, open, [...unique.values()], { holdings, includeUncounted: true });
  await scheduleRefresh(tx, await appendPoints(tx, open, entries));
}
