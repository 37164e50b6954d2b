import { readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** A stage of the Dockerfile. */
export interface Stage {
  readonly name: string;
  readonly text: string;
  /** What the stage copies from the checkout: paths of the checkout, and the path in the image. */
  readonly copies: readonly { readonly from: readonly string[]; readonly to: string }[];
  /** The folders that the stage copies from the stage `web`, which makes them. */
  readonly made: readonly string[];
}

/** Returns the stages of the Dockerfile, in their order. */
export const readStages = (): Stage[] =>
  read('Dockerfile')
    .split(/^FROM /m)
    .slice(1)
    .map((text) => ({
      name: / AS (\S+)/.exec(text.split('\n')[0] ?? '')?.[1] ?? '',
      text,
      copies: [...text.matchAll(/^COPY (?!--from)(.+) (\S+)$/gm)].map(([, from = '', to = '']) => ({ from: from.split(' '), to })),
      made: [...text.matchAll(/^COPY --from=web \/app\/(\S+) \1$/gm)].map(([, path = '']) => path),
    }));

const patterns = read('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

/** Returns whether a file is in Docker's build context: the last pattern that matches the file or one of its folders decides. */
export function isInBuildContext(file: string): boolean {
  const above = file.split('/').map((_, i, parts) => parts.slice(0, i + 1).join('/'));
  const last = patterns.findLast((pattern) => above.some((path) => pattern === '*' || matchesGlob(path, pattern.replace(/^!/, ''))));
  return last?.startsWith('!') ?? true;
}
