import { Migration } from '@mikro-orm/migrations';

/** A table whose content counts against a storage quota, and the SQL expression for the bytes of a row. */
const COUNTED = [
  // A record counts with 256 bytes for its row, which stays when the record is erased.
  { table: 'game_records', kind: 'records', bytes: '256 + coalesce(octet_length(record::text), 0)' },
  { table: 'game_states', kind: 'states', bytes: 'octet_length(state)' },
  // A file exists, or is being written, in these states.
  { table: 'clips', kind: 'clips', bytes: "case when state in ('uploading', 'ready', 'removing') then bytes else 0 end" },
] as const;

/**
 * Counts the bytes that each wallet, and all wallets together, use for clips, game records and saved states. The functions run with the rights of the owner,
 * so that the role of the service cannot change the counts.
 */
export class Migration0064StorageQuotas extends Migration {
  override up(): void {
    this.addSql(
      'create table storage_usage (wallet wallet, kind text collate "C", bytes bigint not null, primary key (wallet, kind)) with (fillfactor = 50)',
    );
    // The total of a kind has 64 rows, so that transactions of different wallets rarely wait for each other.
    this.addSql(
      'create table storage_totals (kind text collate "C", shard smallint, bytes bigint not null, primary key (kind, shard)) with (fillfactor = 50)',
    );
    for (const { table, kind, bytes } of COUNTED) {
      // To avoid deadlocks, a statement locks the rows of wallets before the rows of totals, both in order.
      const count = (changes: string) => `
        insert into storage_usage as u (wallet, kind, bytes)
        select wallet, '${kind}', sum(change) from (${changes}) c group by wallet having sum(change) <> 0 order by wallet
        on conflict (wallet, kind) do update set bytes = u.bytes + excluded.bytes;
        insert into storage_totals as t (kind, shard, bytes)
        select '${kind}', hashtext(wallet) & 63, sum(change) from (${changes}) c group by 2 having sum(change) <> 0 order by 2
        on conflict (kind, shard) do update set bytes = t.bytes + excluded.bytes`;
      const added = `select wallet, ${bytes} as change from new_rows`;
      const removed = `select wallet, -(${bytes}) as change from old_rows`;
      this.addSql(`
        create function count_storage_of_${table}() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
        begin
          if tg_op = 'INSERT' then ${count(added)};
          elsif tg_op = 'UPDATE' then ${count(`${added} union all ${removed}`)};
          else ${count(removed)};
          end if;
          return null;
        end $$`);
      this.addSql(`revoke all on function count_storage_of_${table}() from public`);
      for (const [event, rows] of EVENTS) {
        this.addSql(
          `create trigger ${table}_storage_${event} after ${event} on ${table} referencing ${rows} for each statement execute function count_storage_of_${table}()`,
        );
      }
      this.addSql(`do $$ begin ${count(`select wallet, ${bytes} as change from ${table}`)}; end $$`);
    }
  }

  override down(): void {
    for (const { table } of COUNTED) {
      for (const [event] of EVENTS) this.addSql(`drop trigger ${table}_storage_${event} on ${table}`);
      this.addSql(`drop function count_storage_of_${table}`);
    }
    this.addSql('drop table storage_usage, storage_totals');
  }
}

const EVENTS = [
  ['insert', 'new table as new_rows'],
  ['update', 'old table as old_rows new table as new_rows'],
  ['delete', 'old table as old_rows'],
] as const;
