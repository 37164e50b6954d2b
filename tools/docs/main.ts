import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { actionsPage } from './actions.ts';
import { withScaleTable } from './scale.ts';

/** Writes the pages of docs/ that are made from the code. A test fails when a page is out of date. */
const docs = join(import.meta.dirname, '../../docs');
writeFileSync(join(docs, 'operator-actions.md'), actionsPage());
const scale = join(docs, 'scale.md');
writeFileSync(scale, withScaleTable(readFileSync(scale, 'utf8')));
