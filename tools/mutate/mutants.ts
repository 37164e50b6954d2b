import { createHash } from 'node:crypto';
import type { Node } from 'acorn';
import { fullAncestor } from 'acorn-walk';
import { findOwner, isExcluded } from './exclusions.ts';
import { mutateExpression } from './expressions.ts';
import { type Edit, isParsable, lineAt, type Source } from './source.ts';
import { mutateSql } from './sql.ts';
import { mutateStatement } from './statements.ts';

/** A small change of one source file. Tests must fail with this change. */
export interface Mutant extends Edit {
  /** Path of the file, relative to the checkout. */
  readonly path: string;
  readonly line: number;
  /** The replaced code. */
  readonly original: string;
  /** The whole line of the mutant, without indentation. */
  readonly context: string;
  /** 1 for the first mutant of the file with the same line, original and replacement, 2 for the second one. */
  readonly nth: number;
  /** Name of the constant of the module whose initializer contains the mutant; null when the mutant is inside a function. */
  readonly owner: string | null;
  /** Hash that does not change when other lines of the file change. */
  readonly key: string;
}

/** Returns all mutants of a source file, in the order of their positions. */
export function findMutants(source: Source): Mutant[] {
  const { path, code, program } = source;
  const found = new Map<string, Edit & { owner: string | null }>();
  fullAncestor(program, (node, _state, ancestors: Node[]) => {
    if (isExcluded(ancestors, code)) return;
    const edits = [...mutateExpression(node, ancestors, code), ...mutateStatement(node, ancestors, code), ...mutateSql(node, code)];
    for (const edit of edits) found.set(`${edit.start}:${edit.end}:${edit.replacement}`, { ...edit, owner: findOwner(ancestors) });
  });
  const lines = code.split('\n');
  const seen = new Map<string, number>();
  return [...found.values()]
    .sort((a, b) => a.start - b.start || a.end - b.end)
    .filter((edit) => isParsable(applyEdit(code, edit)))
    .map((edit) => {
      const line = lineAt(code, edit.start);
      const original = code.slice(edit.start, edit.end);
      const context = (lines[line - 1] ?? '').trim();
      const content = [path, context, original, edit.replacement].join('\0');
      const nth = (seen.get(content) ?? 0) + 1;
      seen.set(content, nth);
      const key = createHash('sha256').update(`${content}\0${nth}`).digest('hex').slice(0, 16);
      return { ...edit, path, line, original, context, nth, key };
    });
}

/** Returns the text with the replacement. */
export function applyEdit(code: string, { start, end, replacement }: Edit): string {
  return code.slice(0, start) + replacement + code.slice(end);
}

/** Chooses `count` mutants. The same seed chooses the same mutants, also after changes of other lines. */
export function sample(mutants: readonly Mutant[], count: number, seed: number): Mutant[] {
  const order = new Map(mutants.map((mutant) => [mutant, createHash('sha256').update(`${seed}:${mutant.key}`).digest('hex')]));
  const rank = (mutant: Mutant): string => order.get(mutant) ?? '';
  return mutants.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, count);
}
