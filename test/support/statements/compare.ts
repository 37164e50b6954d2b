import type { DeclaredColumn } from './declared-rows.ts';
import type { ReturnedColumn } from './describe.ts';

/**
 * Compares a declared row with the columns that PostgreSQL returns for a statement.
 * @param declared null when the statement declares no row, so that the caller cannot read its columns
 * @param text SQL of the statement. An outer join can make every column null, so nullability is compared only without one.
 * @param isNeverNull says whether a column that can be null is never null in the rows of this statement
 * @returns one sentence per difference
 */
export function compareRow(
  declared: ReadonlyMap<string, DeclaredColumn> | null,
  returned: readonly ReturnedColumn[],
  text: string,
  isNeverNull: (column: string) => boolean,
): string[] {
  if (!declared) {
    const named = returned.filter(({ name, type }) => name !== '?column?' && type !== 'void');
    return named.length === 0 ? [] : [`returns ${named.map(({ name }) => name).join(', ')}, but declares no row`];
  }
  const differences = [];
  const names = new Set(returned.map(({ name }) => name));
  for (const [name, { optional }] of declared) if (!optional && !names.has(name)) differences.push(`declares ${name}, but does not return it`);
  if (names.size < returned.length) differences.push('returns two columns with the same name');
  const hasOuterJoin = /\b(left|right|full)\s+(outer\s+)?join\b/i.test(text);
  for (const column of returned) {
    const expected = declared.get(column.name);
    if (!expected) differences.push(`returns ${column.name}, but does not declare it`);
    else if (expected.kind !== 'unknown' && expected.kind !== column.kind && !(column.kind === 'json' && column.type.startsWith('json'))) {
      differences.push(`declares ${column.name} as ${expected.kind}, but returns ${column.type} (${column.kind})`);
    } else if (!hasOuterJoin && column.nullable === false && expected.nullable) {
      differences.push(`declares that ${column.name} can be null, but the column is not null`);
    } else if (
      !hasOuterJoin &&
      column.nullable === true &&
      !expected.nullable &&
      expected.kind !== 'unknown' &&
      !excludesNull(column.name, text) &&
      !isNeverNull(column.name)
    ) {
      differences.push(`declares that ${column.name} is not null, but the column can be null; see never-null.ts`);
    }
  }
  return differences;
}

/** Returns whether the SQL says that a column is not null: by a condition, or by an assignment in an update. */
const excludesNull = (column: string, text: string): boolean => new RegExp(`\\b${column}\\s+(is not null|=|<|>|<=|>=|in)`, 'i').test(text);
