import { boardKeys } from '#areas/points';
import { bucketOf, PERIODS, type Span } from '#lib/periods.ts';
import { type Audit, type Check, type Differences, Found } from '../check.ts';
import { Suspects } from '../suspects.ts';

/** Standings that are compared at once: Redis is kept from others for a millisecond. */
const PAGE = 2_000;
/** How often numbers are compared that others change meanwhile. */
const MOST_COUNTS = 5;

/** A board, and the buckets of today. */
interface Board {
  readonly board: string;
  readonly spans: readonly { readonly span: Span; readonly bucket: number; readonly key: string }[];
  readonly versions: string;
  readonly ready: string;
}

const IN_BUCKET = PERIODS.map((p, i) => `case when ${p} = $${i + 2}::int and ${p}_value > 0 then ${p}_value end`);
const LISTED = [`case when total > 0 then total end`, ...IN_BUCKET];
/**
 * SQL: standings as lists of text, each with the value of each span, nothing where it is not listed; all lists are of one order. Takes the board
 * as $1 and today's buckets from $2 on.
 */
const lists = (rows: string) => `
  select string_agg(wallet, ',') as wallets, string_agg(version::text, ',') as versions,
    ${LISTED.map((value, i) => `string_agg(coalesce((${value})::text, ''), ',') as v${i}`).join(', ')}
  from (select * from standings where board = $1 and mode = 'regular' and ${rows}) s`;
// The aggregates keep the order of the rows.
const SELECT_PAGE = lists(`wallet > $6 order by wallet limit ${PAGE}`);
const SELECT_SOME = lists(`wallet = any($6::text[])`);
const COUNT = `select ${LISTED.map((value, i) => `count(${value})::int as v${i}`).join(', ')} from standings where board = $1 and mode = 'regular'`;

/** Wallets, and a column each for the version and the value of each span: '' or nothing where it is not listed. */
interface Columns {
  readonly wallets: readonly string[];
  readonly columns: readonly (readonly (string | null)[])[];
}

/** What the record has of some wallets. */
async function read({ db }: Audit, { board, spans }: Board, text: string, last: unknown): Promise<Columns> {
  const buckets = spans.slice(1).map(({ bucket }) => bucket);
  const [row = {}] = await db.query<Record<string, string | null>>({ text }, [board, ...buckets, last]);
  const split = (list: string | null | undefined) => (row.wallets == null ? [] : (list ?? '').split(','));
  return { wallets: split(row.wallets), columns: ['versions', ...LISTED.map((_, i) => `v${i}`)].map((name) => split(row[name])) };
}

/** What Redis shows of them. */
async function show({ redis }: Audit, { spans, versions }: Board, wallets: readonly string[]): Promise<Columns> {
  if (wallets.length === 0) return { wallets, columns: [] };
  return { wallets, columns: await Promise.all([redis.hmget(versions, ...wallets), ...spans.map(({ key }) => redis.zmscore(key, ...wallets))]) };
}

/** Large numbers are written in several ways. */
const plain = (number: string | null | undefined) => (number == null || number === '' ? '' : String(BigInt(Math.round(Number(number)))));
const isSame = (stood: string | null | undefined, shown: string | null | undefined) => stood === shown || (stood ?? '') === plain(shown);

/** By wallet: the version and the value of each span, '' where it is not listed. */
type Lines = Map<string, readonly string[]>;
const linesOf = ({ wallets, columns }: Columns): Lines => new Map(wallets.map((wallet, i) => [wallet, columns.map((column) => plain(column[i]))]));

function different(stood: Lines, shown: Lines, wallets: Iterable<string>): string[] {
  const same = (a: readonly string[] = [], b: readonly string[] = []) => [null, ...LISTED].every((_, i) => (a[i] ?? '') === (b[i] ?? ''));
  return [...wallets].filter((wallet) => !same(stood.get(wallet), shown.get(wallet)));
}

/** Of some wallets, those that the record and Redis have differently. */
async function differentOf(audit: Audit, board: Board, wallets: readonly string[]): Promise<{ stood: Lines; shown: Lines; wallets: string[] }> {
  const [stood, shown] = [linesOf(await read(audit, board, SELECT_SOME, wallets)), linesOf(await show(audit, board, wallets))];
  return { stood, shown, wallets: different(stood, shown, wallets) };
}

/** Compares every standing with what Redis shows of it. */
async function compareAll(audit: Audit, board: Board, suspects: Suspects<string>): Promise<void> {
  let next = read(audit, board, SELECT_PAGE, '');
  for (;;) {
    const { wallets, columns } = await next;
    const last = wallets.at(-1);
    if (last === undefined) return;
    // The next page is read while Redis is asked about this one.
    next = read(audit, board, SELECT_PAGE, last);
    next.catch(() => undefined);
    const shown = await show(audit, board, wallets);
    for (const [i, wallet] of wallets.entries()) {
      if (!columns.every((column, n) => isSame(column[i], shown.columns[n]?.[i]))) suspects.add(wallet);
    }
  }
}

/** Wallets that a board lists and that are not in the record: where there are more than the record has at any moment around. */
async function findStrays(audit: Audit, board: Board, suspects: Suspects<string>): Promise<void> {
  const { db, redis } = audit;
  const buckets = board.spans.slice(1).map(({ bucket }) => bucket);
  const count = async () => {
    const [row = {}] = await db.query<Record<string, number>>({ text: COUNT }, [board.board, ...buckets]);
    return board.spans.map((_, i) => row[`v${i}`] ?? 0);
  };
  let before = await count();
  let suspicious: Board['spans'] = [];
  for (let i = 0; i < MOST_COUNTS; i++) {
    const shown = await Promise.all(board.spans.map(({ key }) => redis.zcard(key)));
    const after = await count();
    suspicious = board.spans.filter((_, n) => (shown[n] ?? 0) > Math.max(before[n] ?? 0, after[n] ?? 0));
    if (suspicious.length === 0) return;
    before = after;
  }
  for (const { key } of suspicious) {
    for (let cursor = '0'; ; ) {
      const [next, flat] = await redis.zscan(key, cursor, 'COUNT', PAGE);
      const wallets = flat.filter((_, i) => i % 2 === 0);
      for (const wallet of (await differentOf(audit, board, wallets)).wallets) suspects.add(wallet);
      cursor = next;
      if (cursor === '0') break;
    }
  }
}

const shownAs = (values: readonly string[] | undefined) => (values ? values.map((value) => value || '-').join('/') : 'nothing');

async function compareBoard(audit: Audit, board: Board): Promise<Differences> {
  const suspects = new Suspects<string>();
  await compareAll(audit, board, suspects);
  await findStrays(audit, board, suspects);
  return await suspects.confirm(audit, async (wallets) => {
    const { stood, shown, wallets: still } = await differentOf(audit, board, wallets);
    const sentence = (wallet: string) =>
      `${board.board}: ${wallet} stands at ${shownAs(stood.get(wallet))}, and Redis shows ${shownAs(shown.get(wallet))} (version/all time/day/week/month/year)`;
    return new Map(still.map((wallet) => [wallet, sentence(wallet)]));
  });
}

/** Whether Redis has all of a board, and has had it since it was last started. */
async function isComplete({ redis }: Audit, { ready }: Board): Promise<boolean> {
  const [life, since] = await Promise.all([redis.info('server'), redis.get(ready)]);
  return since !== null && life.includes(`run_id:${since}`);
}

/** Waits for boards that are just being filled. @returns those that Redis does not have complete */
async function incomplete(audit: Audit, boards: readonly Board[]): Promise<Differences> {
  const suspects = new Suspects<Board>();
  for (const board of boards) suspects.add(board);
  return await suspects.confirm(audit, async (left) => {
    const complete = await Promise.all(left.map((board) => isComplete(audit, board)));
    return new Map(left.filter((_, i) => !complete[i]).map((board) => [board, `${board.board}: Redis does not have all of it`]));
  });
}

/** Boards are compared with the record as it is now, a page at a time; whatever differs is looked at again, because both move. */
export const boards: Check = {
  name: 'boards',
  invariant: 'Redis shows every standing as it is, and nothing else, of all time and of the running day, week, month and year',
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
    const found = new Found();
    found.addAll(await incomplete(audit, all));
    for (const board of all) if (await isComplete(audit, board)) found.addAll(await compareBoard(audit, board));
    return found;
  },
};
