import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SPECIFICATION } from './specification.ts';

/** Says which of the promised endpoints no test of a whole run has had succeed, and fails when there are any. `noteSuccesses` wrote what did. */
const folder = process.argv[2] ?? '';
const succeeded = new Set(readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n')));
const missing = SPECIFICATION.filter(({ name }) => !succeeded.has(name));
for (const { name } of missing) process.stderr.write(`NO TEST: ${name} never succeeded, though it is promised.\n`);
process.exitCode = missing.length === 0 ? 0 : 1;
