import { Migration } from '@mikro-orm/migrations';

/** Adds the time until which one run may read the history of a lane alone, so that two runs do not read the same transactions. */
export class Migration0061LaneScanClaims extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    this.addSql('alter table payout_lane_scans add column reading_until timestamptz');
  }

  override down(): void {
    this.addSql('alter table payout_lane_scans drop column reading_until');
  }
}
