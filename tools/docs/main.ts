import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { actionsPage } from './actions.ts';

/** Writes the pages of docs/ that are made from the code. A test fails when a page is out of date. */
writeFileSync(join(import.meta.dirname, '../../docs/operator-actions.md'), actionsPage());
