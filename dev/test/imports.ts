import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';

const root = join(import.meta.dirname, '../..');

/** The subpath imports of package.json, longest first, as Node resolves them. */
const subpaths = Object.entries(
  z.object({ imports: z.record(z.string(), z.string()) }).parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))).imports,
)
  .map(([pattern, target]) => ({ before: pattern.split('*')[0] ?? '', after: pattern.split('*')[1], target }))
  .sort((a, b) => b.before.length - a.before.length || (b.after ?? '').length - (a.after ?? '').length);

/** Returns the import specifiers in the text of a module: static, re-exported and dynamic ones. */
export function importsOf(text: string): { specifier: string; isType: boolean }[] {
  const statements = text.matchAll(/(?:^(import|export)( type)?\b[^;']*?\bfrom\s*|^import\s*|\bimport\(\s*)'([^']+)'/gm);
  return [...statements].map(([, , type, specifier = '']) => ({ specifier, isType: type !== undefined }));
}

/** Returns the file that a specifier names, as a path from the root; null for a package. */
export function resolveImport(from: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return relative(root, join(root, dirname(from), specifier));
  if (!specifier.startsWith('#')) return null;
  for (const { before, after, target } of subpaths) {
    if (after === undefined && specifier === before) return relative(root, join(root, target));
    if (after === undefined || !specifier.startsWith(before) || !specifier.endsWith(after)) continue;
    return relative(root, join(root, target.replace('*', specifier.slice(before.length, specifier.length - after.length))));
  }
  throw new Error(`package.json maps no import ${specifier} (in ${from})`);
}
