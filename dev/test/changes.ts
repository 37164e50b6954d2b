import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import { output } from '#dev/stack/binaries.ts';

const FOLDERS = ['src', 'jobs', 'workers', 'dev', 'tools', 'test', 'programs', 'packages', 'examples'];

/** Editors write a file in several steps. Changes within this time count as one, ms. */
const SETTLE_MS = 150;

/** Watches the source files of a checkout. */
export class SourceChanges {
  readonly #watchers: readonly FSWatcher[];
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #waiting: (() => void) | undefined;

  constructor(checkout: string) {
    this.#watchers = FOLDERS.map((folder) =>
      watch(join(checkout, folder), { recursive: true }, (_event, name) => {
        if (name && /\.(ts|js|json)$/.test(name) && !name.includes('node_modules')) this.#add(join(folder, name));
      }),
    );
  }

  /** Waits until files have changed. @returns the files that changed since the last call, relative to the checkout */
  async next(): Promise<string[]> {
    if (this.#changed.size === 0 || this.#timer) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    const files = [...this.#changed];
    this.#changed.clear();
    return files;
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) watcher.close();
  }

  #add(file: string): void {
    this.#changed.add(file);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#waiting?.();
      this.#waiting = undefined;
    }, SETTLE_MS);
  }
}

/** Returns the files that differ from the last commit, and the new files. Empty if the checkout is not a git repository. */
export function uncommittedFiles(checkout: string): string[] {
  try {
    const git = (...args: string[]) => output('git', args, { cwd: checkout }).split('\n');
    return [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')].filter((file) => file !== '');
  } catch {
    return [];
  }
}
