import {
  type HistoryFile,
  isRelation,
  lineChecksum,
  monthText,
  ofMonth,
  partitionOf,
  type Relation,
  readFile,
  rowLines,
} from '#areas/points/history/index.ts';
import { AT, type AuditContext, type Check, DifferenceList, databaseCheck } from '../check.ts';

/** Blocks of a closed partition that one statement reads: 128 MB. */
const SLICE_BLOCKS = 16_384;

const closedMonths = databaseCheck(
  'closed-months',
  'the sums of each closed month agree with each other, with the sums per wallet and with its files, and its rows cannot change',
  `with k as (select *, relation || to_char(make_date(month / 12, month % 12 + 1, 1), '_YYYY_MM') as name from closed_partitions),
   carried as (select month, mode, kind, sum(points) as points, sum(row_count) as rows from carried_points group by 1, 2, 3),
   summed as (select month, mode, kind, sum(points) as points, sum(row_count) as rows from closed_sums where relation = 'ledger' group by 1, 2, 3)
   select format('%s: %s rows are counted, but the sums have %s', name, row_count, s.rows) as what
   from k join (select relation, month, sum(row_count) as rows from closed_sums group by 1, 2) s using (relation, month) where s.rows <> row_count
   union all select format('%s: it has %s rows, but no sums', name, row_count) from k
   where relation in ('ledger', 'activities') and row_count > 0
     and not exists (select from closed_sums s where s.relation = k.relation and s.month = k.month)
   union all select format('month %s of the ledger, %s %s: the wallets have %s points in %s rows, but the sums %s in %s', month, mode, kind, c.points, c.rows, s.points, s.rows)
   from carried c full join summed s using (month, mode, kind) where (c.points, c.rows) is distinct from (s.points, s.rows)
   union all select format('%s: its trigger that refuses changes is missing or disabled', name) from k
   where dropped_at is null and not exists (
     select from pg_trigger t where t.tgrelid = to_regclass(case when detached_at is null then name else 'detached.' || name end)
       and t.tgname = relation || '_closed' and t.tgenabled in ('O', 'A'))
   union all select format('%s: the counting of its rows began at %s and is not complete', name, sealed_at) from k
   where counted < blocks and sealed_at < ${AT} - interval '1 day'
   union all select format('%s: its files have %s rows, but %s were counted', name, coalesce(f.rows, 0), row_count)
   from k left join (select relation, month, sum(row_count) as rows, sum(checksum) as sum, bool_and(verified_at is not null) as verified from history_files group by 1, 2) f
     using (relation, month)
   where exported_at is not null and (coalesce(f.rows, 0), coalesce(f.sum, 0), coalesce(f.verified, true)) is distinct from (row_count, checksum, true)`,
);

/** A closed partition and its stored sums. */
interface Closed {
  readonly relation: string;
  readonly month: number;
  readonly columns: string[];
  readonly blocks: number;
  readonly rows: string;
  readonly checksum: string;
  readonly isExported: boolean;
  readonly isDetached: boolean;
  readonly isDropped: boolean;
}
const SELECT_CLOSED = `
  select relation, month, columns, blocks, row_count::text as rows, checksum::text as checksum, exported_at is not null as "isExported",
    detached_at is not null as "isDetached", dropped_at is not null as "isDropped"
  from closed_partitions where closed_at is not null and ($1::int is null or month = $1::int) order by month, relation`;
const SELECT_FILES = `
  select id, row_count::text as rows, checksum::text as checksum, bytes::text as bytes, encode(sha256, 'hex') as sha256 from history_files
  where relation = $1 and month = $2 and stored_at is not null order by part`;
const SELECT_POINTS = `
  select coalesce(sum(points), 0)::text as points from closed_sums where relation = 'ledger' and month = $1`;

/** Counts the rows of the table of a closed partition again, slice by slice. */
async function countRows({ db }: AuditContext, relation: Relation, closed: Closed): Promise<{ rows: bigint; checksum: bigint }> {
  const from = closed.isDetached ? `detached."${partitionOf(relation, closed.month)}"` : relation;
  const total = { rows: 0n, checksum: 0n };
  for (let block = 0; block < closed.blocks; block += SLICE_BLOCKS) {
    const slice = `${from} where ${ofMonth(relation, closed.month)} and ctid >= '(${block},0)' and ctid < '(${block + SLICE_BLOCKS},0)'`;
    const [sum] = await db.query<{ rows: string; checksum: string }>({
      text: `select count(*)::text as rows, coalesce(sum(${lineChecksum('line')}), 0)::text as checksum from (${rowLines(closed.columns, slice)}) l`,
    });
    total.rows += BigInt(sum?.rows ?? 0);
    total.checksum += BigInt(sum?.checksum ?? 0);
  }
  return total;
}

/** Reads the files of a closed partition from the storage and adds up their rows, and the points of ledger rows. */
async function countFiles({ db, storage }: AuditContext, { relation, month }: Closed): Promise<{ rows: bigint; checksum: bigint; points: bigint }> {
  const total = { rows: 0n, checksum: 0n, points: 0n };
  for (const file of await db.query<HistoryFile>({ text: SELECT_FILES }, [relation, month])) {
    const { rows, checksum } = await readFile(storage, file, (line) => {
      total.points += BigInt(/"points":(-?\d+)/.exec(line)?.[1] ?? 0);
    });
    total.rows += BigInt(rows);
    total.checksum += checksum;
  }
  return total;
}

const closedRows: Check = {
  name: 'closed-rows',
  invariant: 'the rows and the files of closed months have the stored sums; read with --month or --all only, because they cannot change',
  live: true,
  async run(audit) {
    const found = new DifferenceList();
    const { all, month = null } = audit.scope;
    if (!all && month === null) return found;
    await audit.db.query({ text: `set time zone 'UTC'` });
    const closed = await audit.db.query<Closed>({ text: SELECT_CLOSED }, [month]);
    if (month !== null && closed.length === 0) throw new Error(`no month ${monthText(month)} is closed`);
    for (const partition of closed) {
      const { relation, rows, checksum, isDropped, isExported } = partition;
      if (!isRelation(relation)) throw new Error(`${relation} is no table that this release partitions`);
      const name = partitionOf(relation, partition.month);
      const compare = (where: string, sums: { rows: bigint; checksum: bigint }) => {
        if (String(sums.rows) === rows && String(sums.checksum) === checksum) return;
        found.add(`${name}: ${rows} rows with the checksum ${checksum} are stored, but the ${where} ${sums.rows} rows with ${sums.checksum}`);
      };
      if (!isDropped) compare('table has', await countRows(audit, relation, partition));
      if (!isExported) continue;
      const files = await countFiles(audit, partition);
      compare('files have', files);
      const [sum] = relation === 'ledger' ? await audit.db.query<{ points: string }>({ text: SELECT_POINTS }, [partition.month]) : [];
      if (sum && sum.points !== String(files.points)) found.add(`${name}: the sums have ${sum.points} points, but the files ${files.points}`);
    }
    return found;
  },
};

/** Checks of the closed months of the ledger and of other partitioned tables. */
export const historyChecks: readonly Check[] = [closedMonths, closedRows];
