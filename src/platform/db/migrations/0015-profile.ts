import { Migration } from '@mikro-orm/migrations';

/** Creates the table for conversions of beta points. */
export class Migration0015Profile extends Migration {
  override up(): void {
    this.addSql(`
      create table beta_conversions (
        id uuid primary key,
        wallet wallet not null,
        rate numeric(10, 6) not null check (rate > 0 and rate <= 1000),
        beta_points bigint not null check (beta_points > 0),
        points bigint not null check (points > 0),
        converted_by text not null,
        at timestamptz not null,
        check (points = floor(beta_points * rate))
      )`);
    this.addSql('create index beta_conversions_wallet on beta_conversions (wallet, at desc)');
    this.addSql(
      'create trigger beta_conversions_append_only before update or delete on beta_conversions for each row execute function refuse_change()',
    );
    this.addSql('create trigger beta_conversions_no_truncate before truncate on beta_conversions execute function refuse_change()');
  }

  override down(): void {
    this.addSql('drop table beta_conversions');
  }
}
