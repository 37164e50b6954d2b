import pg from 'pg';
import { findPrimary } from './servers.ts';

/**
 * The rights of the service's role to the rows of tables, by table name. The role may read every table.
 * `read`: nothing else. `append`: insert. `keep`: insert and update. `change`: insert, update and delete.
 */
export interface Rights {
  readonly read: readonly string[];
  readonly append: readonly string[];
  readonly keep: readonly string[];
  readonly change: readonly string[];
  /** Sequences from which the service takes numbers. Identity columns need no right. */
  readonly sequences: readonly string[];
  /** Functions that run with the rights of the owner (`security definer`), with their argument types. */
  readonly functions: readonly string[];
}

const VERBS = {
  read: 'select',
  append: 'select, insert',
  keep: 'select, insert, update',
  change: 'select, insert, update, delete',
} as const;

/** Returns the role with which a URL connects. @throws when the role cannot connect */
export async function readRole(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: await findPrimary(url), connectionTimeoutMillis: 10_000 });
  try {
    await client.connect();
    const { rows } = await client.query<{ role: string }>('select current_user::text as role');
    return rows[0]?.role ?? '';
  } finally {
    await client.end();
  }
}

/**
 * Replaces the rights of a role by `rights`, in one transaction. Names that the database does not have are skipped, because an older or a newer
 * release may have other tables.
 * @param owner a connection of the role that owns the tables
 */
export async function grantRights(owner: pg.Client, role: string, rights: Rights): Promise<void> {
  const to = owner.escapeIdentifier(role);
  const { rows } = await owner.query<{ name: string }>(
    `select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'S') and not relispartition`,
  );
  const existing = new Set(rows.map(({ name }) => name));
  const names = (wanted: readonly string[]) => wanted.filter((name) => existing.has(name)).map((name) => owner.escapeIdentifier(name));
  const statements: string[] = [`grant usage on schema public to ${to}`];
  const replace = (kind: string, verbs: string, objects: readonly string[]) => {
    if (objects.length === 0) return;
    statements.push(`revoke all on ${kind} ${objects.join(', ')} from ${to}`, `grant ${verbs} on ${kind} ${objects.join(', ')} to ${to}`);
  };
  for (const [right, verbs] of Object.entries(VERBS) as [keyof typeof VERBS, string][]) replace('table', verbs, names(rights[right]));
  replace('sequence', 'usage', names(rights.sequences));
  for (const name of rights.functions) {
    const found = await owner.query<{ exists: boolean }>('select to_regprocedure($1) is not null as exists', [name]);
    if (found.rows[0]?.exists) replace('function', 'execute', [name]);
  }
  await owner.query(`begin; set local lock_timeout = '5s'; ${statements.join('; ')}; commit`);
}
