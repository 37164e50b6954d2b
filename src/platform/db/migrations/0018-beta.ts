import { Migration } from '@mikro-orm/migrations';

/** Adds columns for points per wallet and game, and a table for conversions of beta points. */
export class Migration0018Beta extends Migration {
  override up(): void {
    // Columns:
    //   `tally`: the number and the points of the wallet's accepted scores per mode and game, as { regular: { <game id>: { scores, points } }, beta:
    //   … }. It is stored in the player row, because the transaction of a score locks and writes this row anyway.
    //   `converted_beta`: the sum of the beta points that the wallet has converted.
    //   `converted_points`: the sum of the points that the wallet got for these beta points.
    this.addSql(`
      alter table players
        add column tally jsonb not null default '{}',
        add column converted_beta bigint not null default 0 check (converted_beta >= 0),
        add column converted_points bigint not null default 0 check (converted_points >= 0)`);
    this.addSql(`
      update players p set tally = t.tally from (
        select wallet, jsonb_object_agg(mode, games) as tally from (
          select wallet, mode, jsonb_object_agg(game_id, jsonb_build_object('scores', scores, 'points', points)) as games from (
            select wallet, mode, game_id, count(*) as scores, sum(points) as points from scores where status = 'accepted' group by 1, 2, 3) s
          group by 1, 2) g
        group by 1) t
      where p.wallet = t.wallet`);
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
}
