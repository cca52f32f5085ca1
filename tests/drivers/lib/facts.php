<?php
/** facts: how the PHP programs print their transcripts: sections of facts, one fact a line. */
error_reporting(E_ALL);

function section(string $name): void
{
    echo "== $name\n";
}

function shown($v): string
{
    if (is_float($v))
        return "float " . var_export($v, true);
    if (is_resource($v) && get_resource_type($v) === 'stream')
        return 'stream ' . bin2hex(stream_get_contents($v));
    return json_encode($v, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION | JSON_INVALID_UTF8_SUBSTITUTE);
}

function fact(string $name, $v): void
{
    echo str_replace("\n", '\n', $name . ': ' . (is_string($v) ? $v : shown($v))), "\n";
}

/** A large value as its length and a checksum. */
function digest(string $s): string
{
    return strlen($s) . ' bytes, md5 ' . md5($s);
}

/** [type, text or null] of the table `values` beside this file. */
function values(): array
{
    $all = [];
    foreach (file(__DIR__ . '/values', FILE_IGNORE_NEW_LINES) as $line)
        if ($line[0] !== '#') {
            [$type, , $text] = explode("\t", $line, 3);
            $all[] = [$type, $text === '\N' ? null : $text];
        }
    return $all;
}
