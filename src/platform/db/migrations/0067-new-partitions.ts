import { Migration } from '@mikro-orm/migrations';

/** Adds the function that updates the statistics of partitions that were empty when PostgreSQL counted their rows. */
export class Migration0067NewPartitions extends Migration {
  override up(): void {
    // Analyzes the partitions that are more than twice as large as at their last analysis, up to 100 blocks, and returns their number. PostgreSQL plans a
    // sequential scan of a partition that it knows as empty or small, and keeps this plan until the next analysis. Autovacuum comes a minute late or more,
    // and by then a new month may have 100,000 rows.
    this.addSql(`
      create function analyze_new_partitions() returns int language plpgsql security definer set search_path = public, pg_temp as $$
      declare
        partition regclass;
        analyzed int := 0;
      begin
        for partition in
          select c.oid from pg_partitioned_table p join pg_class parent on parent.oid = p.partrelid
          join pg_inherits i on i.inhparent = parent.oid join pg_class c on c.oid = i.inhrelid
          where parent.relnamespace = 'public'::regnamespace and c.reltuples >= 0 and c.relpages < 100
            and pg_relation_size(c.oid) / current_setting('block_size')::int > 2 * c.relpages
        loop
          execute format('analyze (skip_locked) %s', partition);
          analyzed := analyzed + 1;
        end loop;
        return analyzed;
      end $$`);
    this.addSql('revoke all on function analyze_new_partitions() from public');
  }

  override down(): void {
    this.addSql('drop function analyze_new_partitions');
  }
}
