# Files mail with a spam probability of 96 percent or more to Junk.
require ["spamtestplus", "relational", "comparator-i;ascii-numeric", "fileinto", "mailbox"];

if spamtest :percent :value "ge" :comparator "i;ascii-numeric" "96" {
  fileinto :create "Junk";
}
