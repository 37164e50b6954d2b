/**
 * Returns a function that converts rows into one array per column: the parameters of a statement that reads the rows with `unnest`. Call it once per
 * statement, not per execution, because V8 drops the optimized code of functions that live only during an execution, and then compiles it again.
 * @param columns functions that return the value of a column
 */
export function columnArrays<Row>(...columns: readonly ((row: Row) => unknown)[]): (rows: readonly Row[]) => unknown[][] {
  return (rows) => {
    const arrays: unknown[][] = [];
    for (const column of columns) arrays.push(rows.map(column));
    return arrays;
  };
}
