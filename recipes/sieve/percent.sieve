# What is spam with a probability of 96 percent or more goes to Junk.
require ["spamtestplus", "relational", "comparator-i;ascii-numeric", "fileinto", "mailbox"];

if spamtest :percent :value "ge" :comparator "i;ascii-numeric" "96" {
  fileinto :create "Junk";
}
