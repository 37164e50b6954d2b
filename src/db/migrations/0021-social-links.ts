import { Migration } from '@mikro-orm/migrations';

/** Linking of accounts under way, and what accounts did on the social network. */
export class Migration0021SocialLinks extends Migration {
  override up(): void {}
}
