import { Migration } from '@mikro-orm/migrations';

/** Chat: messages, and who may not write. */
export class Migration0012Chat extends Migration {
  override up(): void {}
}
