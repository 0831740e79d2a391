# Checks the messages that standard input names, a path a line, by SpamAssassin's Bayes, all in one process.
use strict;
use warnings;
use Mail::SpamAssassin;

my ($rules, $database) = @ARGV;
my $assassin = Mail::SpamAssassin->new({
    rules_filename       => $rules,
    site_rules_filename  => $rules,
    userprefs_filename   => '/dev/null',
    dont_copy_prefs      => 1,
    local_tests_only     => 1,
    post_config_text     => "bayes_path $database\n",
});
$assassin->init(1);
while (my $path = <STDIN>) {
    chomp $path;
    open(my $file, '<:raw', $path) or die "$path: $!";
    my $mail = $assassin->parse(do { local $/; <$file> });
    my $status = $assassin->check($mail);
    printf "%s %s\n", $status->{bayes_score} // 'none', $path;
    $status->finish();
    $mail->finish();
}
