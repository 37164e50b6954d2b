export { archivedHeader, readArchivedBefore } from './archived-before.ts';
export { isDetached } from './detach.ts';
export { type HistoryFile, readFile } from './files.ts';
export { keepHistory } from './keep.ts';
export { isOfOpenMonth, isRelation, monthText, ofMonth, parseMonth, partitionOf, type Relation } from './months.ts';
export { lineChecksum, rowLines } from './row-text.ts';
