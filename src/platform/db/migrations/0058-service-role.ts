import { Migration } from '@mikro-orm/migrations';

/**
 * Adds the functions with which the role of the service updates the statistics of tables, because only the owner of a table may analyze it.
 * src/areas/rights.ts lists all rights of the role.
 */
export class Migration0058ServiceRole extends Migration {
  override up(): void {
    const tablesOf = { analyze_finals: 'finals', analyze_rewards: 'reward_leaves, reward_trees' };
    for (const [name, tables] of Object.entries(tablesOf)) {
      this.addSql(`
        create function ${name}() returns void language plpgsql security definer set search_path = public, pg_temp as $$
        begin analyze ${tables}; end $$`);
      this.addSql(`revoke all on function ${name}() from public`);
    }
  }

  override down(): void {
    this.addSql('drop function analyze_finals, analyze_rewards');
  }
}
