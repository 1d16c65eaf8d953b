/**
 * PostgreSQL functions that only compute from their arguments. Functions that can make text or rows of any length are
 * left out, and so are those that cannot be stopped on large values.
 */
export const postgresFunctions: ReadonlySet<string> = words(`
  avg bool_and bool_or corr count covar_pop covar_samp every max min mode percentile_cont percentile_disc stddev stddev_pop stddev_samp sum
  var_pop var_samp variance array_agg string_agg json_agg jsonb_agg json_object_agg jsonb_object_agg
  cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
  ascii btrim char_length character_length chr concat concat_ws initcap left length like_escape lower ltrim md5 octet_length overlay position
  regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr
  replace reverse right rtrim similar_to_escape split_part starts_with strpos substr substring to_hex upper
  abs ceil ceiling degrees div exp floor ln log mod pi power radians random round scale sign sqrt trunc width_bucket
  acos asin atan atan2 cos cot sin tan
  age clock_timestamp date_bin date_part date_trunc extract isfinite justify_days justify_hours justify_interval make_date make_interval make_time
  make_timestamp make_timestamptz now overlaps statement_timestamp timezone to_char to_date to_number to_timestamp transaction_timestamp
  array_append array_cat array_length array_lower array_position array_positions array_prepend array_remove array_replace array_to_string
  array_upper cardinality unnest
  json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each json_each_text json_extract_path
  json_extract_path_text json_object_keys json_strip_nulls json_typeof jsonb_array_elements jsonb_array_elements_text jsonb_array_length
  jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_object_keys jsonb_strip_nulls jsonb_typeof row_to_json to_json to_jsonb
  plainto_tsquery phraseto_tsquery to_tsquery to_tsvector ts_rank ts_rank_cd websearch_to_tsquery
  isempty lower_inc lower_inf upper_inc upper_inf num_nonnulls num_nulls
  decode encode sha224 sha256 sha384 sha512
`);

/**
 * PostgreSQL types a value may be cast to. Types that look up names in the catalog are left out, and so are those that
 * make ranking take minutes.
 */
export const postgresCastTypes: ReadonlySet<string> = words(`
  bit bool boolean bpchar bytea char cidr date daterange decimal float4 float8 inet int2 int4 int4range int8 int8range integer interval json
  jsonb macaddr money numeric numrange smallint bigint real text time timestamp timestamptz timetz tsrange tstzrange uuid varbit
  varchar
`);

/**
 * SQLite functions that only compute from their arguments. Functions that can make text or bytes of any length are left
 * out.
 */
export const sqliteFunctions: ReadonlySet<string> = words(`
  avg count group_concat max median min string_agg sum total
  cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
  char coalesce concat concat_ws glob hex ifnull iif instr length like likelihood likely lower ltrim nullif octet_length quote regexp replace
  rtrim soundex substr substring trim typeof unhex unicode unlikely upper
  abs acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power radians random round sign sin
  sinh sqrt tan tanh trunc
  current_date current_time current_timestamp date datetime julianday strftime time timediff unixepoch
  -> ->> json json_array json_array_length json_extract json_group_array json_group_object json_object json_quote json_type json_valid
`);

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}
