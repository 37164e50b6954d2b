import { Migration } from '@mikro-orm/migrations';

/** What keeps chat rounds coming. */
export class Migration0014Scheduler extends Migration {
  override up(): void {}
}
