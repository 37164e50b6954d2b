import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

// The runner preloads this file in each process and worker thread of a test run (NODE_OPTIONS). It gives Node.js the mutated text of one module. The
// file in the checkout stays unchanged.
const mutant: { url: string; start: number; end: number; replacement: string } | null = process.env.MUTANT
  ? JSON.parse(readFileSync(process.env.MUTANT, 'utf8'))
  : null;

if (mutant !== null) {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (url !== mutant.url) return loaded;
      const text = String(loaded.source instanceof ArrayBuffer ? Buffer.from(loaded.source) : loaded.source);
      return { ...loaded, source: text.slice(0, mutant.start) + mutant.replacement + text.slice(mutant.end) };
    },
  });
}
