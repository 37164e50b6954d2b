import { boardKeys, isBoardComplete } from '#areas/points';
import { bucketOf, PERIODS, type Span } from '#lib/periods.ts';
import { Candidates } from '../candidates.ts';
import { type AuditContext, type Check, DifferenceList, type Differences } from '../check.ts';

/** Maximum standings per query. Redis needs about one millisecond to read this many standings, and serves no other client during this time. */
const PAGE = 2_000;
/**
 * Maximum attempts to compare the number of wallets in Redis with the number in the database. Several attempts may be needed, because both numbers
 * can change during an attempt.
 */
const MAX_COUNTS = 5;

/**
 * A leaderboard and its Redis keys.
 * `spans`: all time and the current day, week, month and year, each with the key of its sorted set.
 * `versions`: the key of the hash with the version of each wallet's standing.
 * `ready`: the key that marks the leaderboard as complete.
 */
interface Board {
  readonly board: string;
  readonly spans: readonly { readonly span: Span; readonly bucket: number; readonly key: string }[];
  readonly versions: string;
  readonly ready: string;
}

const IN_BUCKET = PERIODS.map((p, i) => `case when not banned and ${p} = $${i + 2}::int and ${p}_value > 0 then ${p}_value end`);
const LISTED = [`case when not banned and total > 0 then total end`, ...IN_BUCKET];
/** SQL: the regular standings of the board $1. Boards do not list banned wallets. */
const STANDINGS = `
  select *, exists (select from players p where p.wallet = standings.wallet and p.banned_at is not null) as banned from standings
  where board = $1 and mode = 'regular'`;
/**
 * Returns SQL that aggregates standings to one row of comma-separated lists. All lists have the same order.
 * `wallets`: the wallets.
 * `versions`: the versions of their standings.
 * `v0` to `v4`: their values of all time, the day, the week, the month and the year; '' when the wallet is not listed in this span.
 * Parameters: $1 is the board, and $2 to $5 are the current day, week, month and year.
 * @param rows the SQL condition that selects the standings
 */
const lists = (rows: string) => `
  select string_agg(wallet, ',') as wallets, string_agg(version::text, ',') as versions,
    ${LISTED.map((value, i) => `string_agg(coalesce((${value})::text, ''), ',') as v${i}`).join(', ')}
  from (${STANDINGS} and ${rows}) s`;
// string_agg reads the rows in the order of the subquery, so all lists are sorted by wallet.
const SELECT_PAGE = lists(`wallet > $6 order by wallet limit ${PAGE}`);
const SELECT_SOME = lists(`wallet = any($6::text[])`);
const COUNT = `select ${LISTED.map((value, i) => `count(${value})::int as v${i}`).join(', ')} from (${STANDINGS}) s`;

/**
 * Standings of several wallets, column by column: one column with the versions of the standings, then one column of values per span (all time, day,
 * week, month, year). A value is '' or null when the wallet is not listed in the span.
 */
interface Columns {
  readonly wallets: readonly string[];
  readonly columns: readonly (readonly (string | null)[])[];
}

/**
 * Reads standings from the database.
 * @param text `SELECT_PAGE` or `SELECT_SOME`
 * @param last the value of $6: for `SELECT_PAGE` the last wallet of the previous page, for `SELECT_SOME` the list of wallets to read
 */
async function readDatabase({ db }: AuditContext, { board, spans }: Board, text: string, last: unknown): Promise<Columns> {
  const buckets = spans.slice(1).map(({ bucket }) => bucket);
  const [row = {}] = await db.query<Record<string, string | null>>({ text }, [board, ...buckets, last]);
  const split = (list: string | null | undefined) => (row.wallets == null ? [] : (list ?? '').split(','));
  return { wallets: split(row.wallets), columns: ['versions', ...LISTED.map((_, i) => `v${i}`)].map((name) => split(row[name])) };
}

/** Reads the versions and values of the standings of some wallets from Redis. */
async function readRedis({ redis }: AuditContext, { spans, versions }: Board, wallets: readonly string[]): Promise<Columns> {
  if (wallets.length === 0) return { wallets, columns: [] };
  return { wallets, columns: await Promise.all([redis.hmget(versions, ...wallets), ...spans.map(({ key }) => redis.zmscore(key, ...wallets))]) };
}

/** Returns a number in plain digits, because Redis writes large numbers in several formats. Returns '' when the argument is missing or empty. */
const plain = (number: string | null | undefined) => (number == null || number === '' ? '' : String(BigInt(Math.round(Number(number)))));
const isSame = (stored: string | null | undefined, shown: string | null | undefined) => stored === shown || (stored ?? '') === plain(shown);

/**
 * Per wallet: the version of its standing, then the value of each span (all time, day, week, month, year). A value is '' when the wallet is not
 * listed in the span.
 */
type Lines = Map<string, readonly string[]>;
const linesOf = ({ wallets, columns }: Columns): Lines => new Map(wallets.map((wallet, i) => [wallet, columns.map((column) => plain(column[i]))]));

function different(stored: Lines, shown: Lines, wallets: Iterable<string>): string[] {
  const same = (a: readonly string[] = [], b: readonly string[] = []) => [null, ...LISTED].every((_, i) => (a[i] ?? '') === (b[i] ?? ''));
  return [...wallets].filter((wallet) => !same(stored.get(wallet), shown.get(wallet)));
}

/** Reads wallets from the database and from Redis. Returns both results and the wallets whose values differ. */
async function differentOf(
  audit: AuditContext,
  board: Board,
  wallets: readonly string[],
): Promise<{ stored: Lines; shown: Lines; wallets: string[] }> {
  const [stored, shown] = [linesOf(await readDatabase(audit, board, SELECT_SOME, wallets)), linesOf(await readRedis(audit, board, wallets))];
  return { stored, shown, wallets: different(stored, shown, wallets) };
}

/** Compares every standing of a board with Redis. Adds the wallets that differ to `candidates`. */
async function compareAll(audit: AuditContext, board: Board, candidates: Candidates<string>): Promise<void> {
  let next = readDatabase(audit, board, SELECT_PAGE, '');
  for (;;) {
    const { wallets, columns } = await next;
    const last = wallets.at(-1);
    if (last === undefined) return;
    // Starts to read the next page from the database while Redis still reads the current page.
    next = readDatabase(audit, board, SELECT_PAGE, last);
    next.catch(() => undefined);
    const shown = await readRedis(audit, board, wallets);
    for (const [i, wallet] of wallets.entries()) {
      if (!columns.every((column, n) => isSame(column[i], shown.columns[n]?.[i]))) candidates.add(wallet);
    }
  }
}

/**
 * Finds the wallets that a board in Redis lists although the database has no standing for them, and adds them to `candidates`.
 * Counts the wallets of the board in the database, then in Redis, then in the database again. Scans the board only if the count in Redis is greater
 * than both counts in the database.
 */
async function findUnknownWallets(audit: AuditContext, board: Board, candidates: Candidates<string>): Promise<void> {
  const { db, redis } = audit;
  const buckets = board.spans.slice(1).map(({ bucket }) => bucket);
  const count = async () => {
    const [row = {}] = await db.query<Record<string, number>>({ text: COUNT }, [board.board, ...buckets]);
    return board.spans.map((_, i) => row[`v${i}`] ?? 0);
  };
  let before = await count();
  let overfull: Board['spans'] = [];
  for (let i = 0; i < MAX_COUNTS; i++) {
    const shown = await Promise.all(board.spans.map(({ key }) => redis.zcard(key)));
    const after = await count();
    overfull = board.spans.filter((_, n) => (shown[n] ?? 0) > Math.max(before[n] ?? 0, after[n] ?? 0));
    if (overfull.length === 0) return;
    before = after;
  }
  for (const { key } of overfull) {
    for (let cursor = '0'; ; ) {
      const [next, flat] = await redis.zscan(key, cursor, 'COUNT', PAGE);
      const wallets = flat.filter((_, i) => i % 2 === 0);
      for (const wallet of (await differentOf(audit, board, wallets)).wallets) candidates.add(wallet);
      cursor = next;
      if (cursor === '0') break;
    }
  }
}

const shownAs = (values: readonly string[] | undefined) => (values ? values.map((value) => value || '-').join('/') : 'nothing');

async function compareBoard(audit: AuditContext, board: Board): Promise<Differences> {
  const candidates = new Candidates<string>();
  await compareAll(audit, board, candidates);
  await findUnknownWallets(audit, board, candidates);
  return await candidates.confirm(audit, async (wallets) => {
    const { stored, shown, wallets: still } = await differentOf(audit, board, wallets);
    const sentence = (wallet: string) =>
      `${board.board}: ${wallet} has ${shownAs(stored.get(wallet))} in the database and ${shownAs(shown.get(wallet))} in Redis (version/all time/day/week/month/year)`;
    return new Map(still.map((wallet) => [wallet, sentence(wallet)]));
  });
}

/** Returns whether the board in Redis is complete: it was filled since its server last started or changed. */
const isComplete = async ({ redis }: AuditContext, { ready }: Board): Promise<boolean> => (await isBoardComplete(redis, [ready])) === 1;

/**
 * Waits until the boards in Redis are complete.
 * @returns one difference per board that stays incomplete
 */
async function incomplete(audit: AuditContext, boards: readonly Board[]): Promise<Differences> {
  const candidates = new Candidates<Board>();
  for (const board of boards) candidates.add(board);
  return await candidates.confirm(audit, async (left) => {
    const complete = await Promise.all(left.map((board) => isComplete(audit, board)));
    return new Map(left.filter((_, i) => !complete[i]).map((board) => [board, `${board.board}: the board in Redis is incomplete`]));
  });
}

/**
 * Compares the boards in Redis with the current standings in the database, page by page. Differences are compared again, because both systems change
 * during the check.
 */
export const boards: Check = {
  name: 'boards',
  invariant: 'the boards in Redis equal the standings, of all time and of the current day, week, month and year',
  live: true,
  async run(audit) {
    const known = await audit.db.query<{ board: string; day: number }>({
      text: `select distinct board, (select app_day()) as day from standings where mode = 'regular' order by board`,
    });
    const all = known.map(({ board, day }): Board => {
      const keys = boardKeys(audit.config.redis.prefix, board);
      const spans = (['all', ...PERIODS] as const).map((span) => ({ span, bucket: span === 'all' ? 0 : bucketOf(span, day) }));
      return { board, versions: keys.versions, ready: keys.ready, spans: spans.map((one) => ({ ...one, key: keys.span(one.span, one.bucket) })) };
    });
    const found = new DifferenceList();
    found.addAll(await incomplete(audit, all));
    for (const board of all) if (await isComplete(audit, board)) found.addAll(await compareBoard(audit, board));
    return found;
  },
};
