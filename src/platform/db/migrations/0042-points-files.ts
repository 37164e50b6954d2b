import { Migration } from '@mikro-orm/migrations';

/** Each epoch that is computed from points has a file with the points of each wallet by source. */
export class Migration0042PointsFiles extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // `points_hash` and `points_bytes`: SHA-256 and length of the file. Both are null for an import, and until the file is stored.
    this.addSql(`
      alter table epochs
        add column points_hash bytea check (octet_length(points_hash) = 32),
        add column points_bytes int check (points_bytes > 0),
        add check ((points_hash is null) = (points_bytes is null)),
        add check (source = 'computed' or points_hash is null)`);
  }

  override down(): void {
    this.addSql('alter table epochs drop column points_hash, drop column points_bytes');
  }
}
